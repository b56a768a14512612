// The tabs of a card: what came back, the code behind it, and why the server answers so.

import { element } from './element.js'
import { explain, showLines } from './explain.js'

/**
 * Puts what an answer shows under the first of three tabs.
 *
 * @param card as `GET /code/:card` knows it
 * @param ask returns the request that `explain` is to explain
 * @returns what to call when there is a new response
 */
export function addTabs(answer, { card, title, first = 'Response', ask }) {
  const list = element('div', '', 'tabs')
  list.role = 'tablist'
  list.ariaLabel = `About ${title}`
  const response = document.createElement('div')
  response.append(...answer.childNodes)
  const code = element('pre', '', 'listing')
  const why = element('pre', '', 'listing wrapped why')
  const tabs = [
    tab('response', first, response, () => {}),
    tab('code', 'Code', code, async () => {
      if (code.textContent === '') await fill(code, async () => (await fetch(`code/${card}`)).text())
    }),
    tab('why', 'Why', why, () => fill(why, () => explain(ask()))),
  ]
  list.append(...tabs.map(({ button }) => button))
  answer.append(list, ...tabs.map(({ panel }) => panel))
  select(tabs[0])

  function tab(name, text, panel, open) {
    const button = element('button', text)
    button.type = 'button'
    button.role = 'tab'
    button.id = `${card}-${name}-tab`
    panel.role = 'tabpanel'
    panel.id = `${card}-${name}-panel`
    panel.setAttribute('aria-labelledby', button.id)
    button.setAttribute('aria-controls', panel.id)
    if (panel !== response) panel.tabIndex = 0 // it scrolls, which must work with the keyboard too
    const made = { button, panel, open }
    button.addEventListener('click', () => select(made))
    return made
  }

  function select(chosen) {
    for (const { button, panel } of tabs) {
      const isChosen = button === chosen.button
      button.ariaSelected = String(isChosen)
      button.tabIndex = isChosen ? 0 : -1
      panel.hidden = !isChosen
    }
    chosen.open()
  }

  list.addEventListener('keydown', (event) => {
    const at = tabs.findIndex(({ button }) => button === document.activeElement)
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const chosen = tabs.at(to % tabs.length)
    chosen.button.focus()
    select(chosen)
  })

  return () => {
    const chosen = tabs.find(({ panel }) => !panel.hidden)
    if (chosen === tabs[1]) select(tabs[0])
    else chosen.open()
  }
}

async function fill(panel, read) {
  try {
    showLines(panel, await read())
  } catch {
    showLines(panel, 'The server cannot be reached.')
  }
}

/** Calls back once, when the person first sees the element, or so much of it. */
export function whenSeen(element, callback, threshold = 0) {
  const watch = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return
      watch.disconnect()
      callback()
    },
    { threshold },
  )
  watch.observe(element)
}

for (const answer of document.querySelectorAll('.answer[data-card]')) {
  const { card, first, why } = answer.dataset
  const title = answer.closest('section').querySelector('h2').firstChild.textContent.trim()
  const [method, target] = why.split(' ')
  addTabs(answer, { card, title, first, ask: () => ({ method, target }) })
}
