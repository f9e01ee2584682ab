"""What can be seen to be wrong with a page in the browser: expressions for `Browser.js`, each the list of what it found, and axe-core's findings."""
import pathlib

AXE = pathlib.Path(__file__).resolve().parents[2] / "web/node_modules/axe-core/axe.min.js"
NO_AXE = "axe-core: left out, no web/node_modules (npm ci in web)"


def axe(browser):
    """What axe-core finds wrong with the page as it is, in words; nothing where it is not installed."""
    if not AXE.exists():
        return []
    browser.js(AXE.read_text(encoding="utf-8") + "\n;0")
    return browser.js("""axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`))""")


# Text of charts that is cut at the edge of its picture.
CUT = """[...document.querySelectorAll('svg.chart text')].filter((t) => t.textContent && t.getClientRects().length > 0).filter((t) => { const s = t.ownerSVGElement.getBoundingClientRect(), r = t.getBoundingClientRect();
  return r.left < s.left - 1.5 || r.right > s.right + 1.5; }).map((t) => `${t.ownerSVGElement.id}: ${t.textContent}`)"""
# Texts of charts that are too small to be read, in pixels of the page.
TINY = """[...document.querySelectorAll('svg.chart text')].filter((t) => t.textContent && t.getClientRects().length > 0).filter((t) => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a < 9)
  .map((t) => `${t.ownerSVGElement.id}: ${t.textContent} ${(parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a).toFixed(1)}`)"""
# Texts of an axis that touch each other.
TOUCHING = """[...document.querySelectorAll('svg.chart')].filter((s) => s.getClientRects().length > 0).flatMap((s) => { const all = [...s.querySelectorAll('text.soft')].filter((t) => t.textContent && !t.querySelector('title')).map((t) => [t.textContent, t.getBoundingClientRect()]);
  return all.flatMap(([a, p], i) => all.slice(i + 1).filter(([, q]) => p.left < q.right && q.left < p.right && p.top + 3 < q.bottom && q.top + 3 < p.bottom).map(([b]) => `${s.id}: ${a} and ${b}`)); })"""
# Charts have the geometry of a phone.
NARROW = """[...document.querySelectorAll('svg.chart')].every((s) => s.getClientRects().length === 0 || s.classList.contains('net') || s.classList.contains('wide-chart') || s.viewBox.baseVal.width < 500)"""
# Tables with columns out of sight.
HIDDEN = """[...document.querySelectorAll('.scroll table, .panes > section table')].filter((t) => t.getClientRects().length > 0).filter((t) => { const place = t.closest('.scroll') ?? t.closest('section'); return place.scrollWidth > place.clientWidth + 1; })
  .map((t) => `${t.id || t.closest('[aria-label]')?.getAttribute('aria-label')}: ${t.closest('.scroll')?.scrollWidth} of ${t.closest('.scroll')?.clientWidth}`)"""
# Tables whose first columns, one with a number among them, cannot be seen together.
NUMBERS_OUT_OF_SIGHT = """[...document.querySelectorAll('.scroll table')].filter((t) => t.getClientRects().length > 0).filter((t) => { const cell = t.querySelector('tbody td.n'); return cell && cell.getBoundingClientRect().right > t.closest('.scroll').getBoundingClientRect().right + 1; })
  .map((t) => t.id || t.closest('.scroll').getAttribute('aria-label'))"""
# Words that stand beside each other twice, numbers of nothing, signs of nothing.
ODD = """(document.querySelector('main').innerText.match(/\\b(learned learned|scaled scaled|analytic analytic)\\b|NaN|undefined|Infinity|[−-]0\\.0+(?!\\d)|\\d\\.000 k\\b|\\de-\\d\\d|\\bmessage:|\\bon on\\b|(^|\\n)[.,;] |(?<![\\d.])0\\.0\\d+ us\\b|(?<![\\d.])\\d{4,} ms\\b/g) ?? [])"""
