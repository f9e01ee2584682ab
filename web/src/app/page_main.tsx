// The script of the pages that --html writes.
import { renderPage } from "./page";

renderPage(document.getElementById("app")!, document.getElementById("page-data")!.textContent ?? "");
