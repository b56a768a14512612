// Finds faults that keep people from using a page, as far as they can be computed: controls and images without a name, headings that skip a
// level, references that lead nowhere, and text with too little contrast (WCAG 2.2, 1.1.1, 1.3.1, 1.4.3, 1.4.11, 4.1.2).

import type { Page } from 'playwright-core'

/** Runs in the page, so it is not type-checked. */
const FIND = `(() => {
  const faults = []
  const all = (selector) => [...document.querySelectorAll(selector)]
  const check = (isGood, element, fault) => isGood || faults.push(fault + ': ' + element.cloneNode().outerHTML + ' ' + element.textContent.trim().slice(0, 40))

  for (const control of all('input, textarea, select, progress')) check(control.labels.length > 0, control, 'no label')
  for (const button of all('button, a')) check(button.textContent.trim() !== '', button, 'no name')
  for (const image of all('img')) check(image.alt !== '', image, 'no alternative')
  for (const image of all('svg')) check(image.getAttribute('aria-hidden') === 'true', image, 'not hidden')
  for (const region of all('section, nav, [role=log]'))
    check(region.matches('[aria-label], [aria-labelledby]'), region, 'no name')

  const ids = all('[id]').map(({ id }) => id)
  for (const element of all('[id]')) check(ids.indexOf(element.id) === ids.lastIndexOf(element.id), element, 'id twice')
  for (const element of all('[for], [aria-labelledby], [aria-describedby], [href^="#"]')) {
    const id = element.htmlFor || element.getAttribute('aria-labelledby') || element.getAttribute('aria-describedby') || element.hash?.slice(1)
    check(ids.includes(id), element, 'leads nowhere')
  }
  let level = 0
  for (const heading of all('h1, h2, h3, h4')) {
    check(Number(heading.tagName[1]) <= level + 1, heading, 'skips a level')
    level = Number(heading.tagName[1])
  }

  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [red, green, blue, alpha = 1] = channels(getComputedStyle(at).backgroundColor)
      if (alpha === 1) return [red, green, blue]
    }
    return [255, 255, 255]
  }
  const luminance = (color) => {
    const [red, green, blue] = color.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (color, ground) => {
    const [dark, light] = [luminance(channels(color)), luminance(ground)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
  for (const element of all('body *')) {
    if (element.getClientRects().length === 0 || element.closest(':disabled, fieldset:disabled')) continue
    const isField = element.matches('input[type=text], textarea')
    if (hasText(element) || isField) {
      const ratio = contrast(getComputedStyle(element).color, groundOf(element))
      check(ratio >= 4.5, element, 'contrast ' + ratio.toFixed(2))
    }
    if (isField) check(contrast(getComputedStyle(element).borderTopColor, groundOf(element.parentElement)) >= 3, element, 'faint border')
  }
  return faults
})()`

export function pageFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(FIND)
}
