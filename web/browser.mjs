// Unpacks the Chromium of the package @sparticuz/chromium into a folder, and says where it is.
// Its libraries go beside it, for machines that have none of a desktop's.
//
//     node browser.mjs FOLDER

import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

const packed = join(import.meta.dirname, "node_modules", "@sparticuz", "chromium", "bin");
const folder = process.argv[2];
mkdirSync(folder, { recursive: true });

async function unpack(name, target, mode) {
  if (existsSync(target)) return;
  await pipeline(
    createReadStream(join(packed, name)),
    createBrotliDecompress(),
    createWriteStream(`${target}.part`, { mode }),
  );
  renameSync(`${target}.part`, target);
}

await unpack("chromium.br", join(folder, "chromium"), 0o755);
await unpack("al2023.tar.br", join(folder, "libraries.tar"), 0o644);
execFileSync("tar", ["-xf", join(folder, "libraries.tar"), "-C", folder]);
