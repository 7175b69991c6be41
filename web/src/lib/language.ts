/**
 * uPlot asks for numbers in the browser's language while it is loaded, and fails where that is none: a
 * machine in the locale `C` calls it `en-US@posix`. Import this before it.
 */

try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-GB", configurable: true });
}

export {};
