// Before anything is painted: the theme that the reader chose, so that no light page flashes at night.
document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "system";
