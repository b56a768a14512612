// The meter: what three servers do under the same load.

import { showBars } from './bars.js'
import { play, playedBy } from './show.js'
import { sizeOf } from './size.js'

const card = document.querySelector('#load')
const progress = card.querySelector('progress')
const METRICS = {
  requestsPerSecond: (value) => Math.round(value).toLocaleString('en'),
  cpuMicros: (value) => `${value.toFixed(1)} µs`,
  memoryBytes: sizeOf,
}
const say = (text) => (card.querySelector('.summary').textContent = text)
function show(state) {
  progress.value = state.done
  for (const [metric, written] of Object.entries(METRICS)) {
    const rows = state.servers.map(({ name, isMissing, [metric]: value }) => {
      return { name, value, text: isMissing ? 'not installed' : value === undefined ? '' : written(value), isOwn: name === 'weir' }
    })
    showBars(card.querySelector(`[data-metric=${metric}]`), rows)
  }
}

/** Of the CPU time, which says the most: how many requests there are in a second also depends on the client. */
function conclusion({ servers }) {
  const [weir, ...others] = servers
  const parts = others
    .filter(({ cpuMicros }) => cpuMicros !== undefined)
    .map(({ name, cpuMicros }) => [name, (cpuMicros / weir.cpuMicros).toFixed(1)])
    .sort(([, one], [, other]) => other - one)
    .map(([name, times], i) => `${name}${i === 0 ? ' needs' : ''} ${times} times`)
  const missing = others.filter(({ isMissing }) => isMissing).map(({ name }) => ` ${name} is not installed.`)
  return `${parts.join(' and ')} the CPU of weir for this request.${missing.join('')}`
}

playedBy(card.querySelector('#load-begin'), async () => {
  progress.parentElement.hidden = false
  let last = null
  say('The servers are starting.')
  try {
    await play('load', (state) => {
      if (last === null) say('Measuring.')
      last = state
      show(state)
    })
    say(conclusion(last))
  } catch ({ message }) {
    say(message)
  }
})

show({ done: 0, servers: ['weir', 'node:http', 'Express'].map((name) => ({ name })) })
