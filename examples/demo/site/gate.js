// A refusal at the gate: how much of a large body was sent, and how much of it the server read.

import { showBars } from './bars.js'
import { element } from './element.js'
import { send, textOf } from './send.js'
import { playedBy } from './show.js'
import { sizeOf } from './size.js'
import { whenSeen } from './tabs.js'

const SIZE = 64 * 1024 * 1024
const ROUTE = 'POST /teams/:team/pictures'

const card = document.querySelector('#gate')
const summary = card.querySelector('.summary')
const bars = card.querySelector('.bars')

/** What the observer of the server is told of the request: it is the only one that knows how much the server has read. */
function listen() {
  const stream = new EventSource('records')
  const opened = new Promise((resolve, reject) => {
    stream.onopen = resolve
    stream.onerror = () => reject(new Error('The server cannot be reached.'))
  })
  const record = new Promise((resolve) => {
    stream.onmessage = ({ data }) => {
      const one = JSON.parse(data)
      if (one.route === ROUTE) resolve(one)
    }
  })
  return { opened, record, close: () => stream.close() }
}

async function run() {
  summary.textContent = 'Sending 64 MiB as nobody.'
  const records = listen()
  try {
    await records.opened
    let passedOn = 0
    const body = new Blob([new Uint8Array(SIZE)])
    const { response, error, ms } = await send({ method: 'POST', target: '/teams/blue/pictures', body }, undefined, (sent) => {
      passedOn = sent
    })
    if (error) throw new Error(error)
    const { bytesIn } = await records.record
    summary.replaceChildren(
      element('strong', `${response.status} ${response.statusText}`),
      ' ',
      element('code', 'POST /teams/blue/pictures'),
      ' ',
      element('span', `${ms.toFixed(1)} ms`),
    )
    show(passedOn, bytesIn)
    card.querySelector('.listing.refusal').textContent = textOf(response)
  } finally {
    records.close()
  }
}

/** @param passedOn by the browser @param bytesIn what the server has read; both are missing before it is played */
function show(passedOn, bytesIn) {
  const written = (bytes) => (bytes === undefined ? '' : sizeOf(bytes))
  showBars(bars, [
    { name: 'the body', value: SIZE, text: sizeOf(SIZE) },
    { name: 'the browser has sent', value: passedOn, text: written(passedOn) },
    { name: 'the server has read', value: bytesIn, text: written(bytesIn), isOwn: true },
  ])
}

show()
const begin = playedBy(card.querySelector('#gate-play'), () => run().catch(({ message }) => (summary.textContent = message)))
whenSeen(card.querySelector('.answer'), begin, 0.5)
