// An edit under `weir dev`: each request as a line from when it was sent to when it was answered.

import { play, playedBy } from './show.js'
import { whenSeen } from './tabs.js'

const SVG = 'http://www.w3.org/2000/svg'

const card = document.querySelector('#edit')
const chart = card.querySelector('.timeline svg')
const [saved, ready] = card.querySelectorAll('.timeline .mark')
const say = (text) => (card.querySelector('.summary').textContent = text)

/** Which version answered a request, and whether it waited for that version. */
function kindOf({ at, version, error }, readyAt) {
  if (error) return 'refused'
  if (version === 'first') return 'first'
  return readyAt === null || at < readyAt ? 'waited' : 'second'
}

function show({ now, savedAt, asked }) {
  const seconds = asked.filter(({ version }) => version === 'second').map(({ end }) => end)
  const readyAt = seconds.length === 0 ? null : Math.min(...seconds)
  const counts = { first: 0, waited: 0, second: 0, refused: 0 }
  let longest = 0
  const lines = asked.map((one, i) => {
    const kind = kindOf(one, readyAt)
    const isOpen = one.end === null
    if (!isOpen || savedAt !== null) counts[kind]++
    if (kind === 'waited') longest = Math.max(longest, (one.end ?? now) - one.at)
    const line = document.createElementNS(SVG, 'line')
    line.setAttribute('class', isOpen && savedAt === null ? 'first' : kind)
    for (const [name, value] of Object.entries({ x1: one.at, x2: one.end ?? now, y1: i + 1, y2: i + 1 })) line.setAttribute(name, value)
    return line
  })
  chart.setAttribute('viewBox', `0 0 ${now} ${asked.length + 1}`)
  chart.replaceChildren(...lines)
  mark(saved, savedAt, now)
  mark(ready, readyAt, now)
  for (const [kind, count] of Object.entries(counts)) card.querySelector(`.legend .${kind}`).nextElementSibling.textContent = count
  if (longest > 0) card.querySelector('.legend .waited').nextElementSibling.textContent += `, the longest ${longest} ms`
  return { ...counts, longest, asked: asked.length }
}

function mark(label, at, now) {
  label.hidden = at === null
  if (at !== null) label.style.insetInlineStart = `${(at / now) * 100}%`
}

async function run() {
  say('weir dev is starting.')
  let counts = null
  try {
    await play('edit', (state) => {
      if (counts === null) say('One request every 25 ms.')
      counts = show(state)
    })
    const { asked, waited, longest, refused } = counts
    say(`${asked} requests. ${waited} waited for the second version, at most ${longest} ms. ${refused === 0 ? 'None' : refused} refused.`)
  } catch ({ message }) {
    say(message)
  }
}

whenSeen(card.querySelector('.answer'), playedBy(card.querySelector('#edit-play'), run), 0.5)
