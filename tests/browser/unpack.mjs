// Unpack the browser, its libraries and its fonts into the folder for temporary files, where the package puts them.
import chromium from "@sparticuz/chromium";

await chromium.executablePath();
