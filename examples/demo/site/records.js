// What the observer of the server is told, as it happens.

import { element } from './element.js'
import { sizeOf } from './size.js'

const SHOWN_RECORDS = 12

const card = document.querySelector('#records')
const rows = card.querySelector('tbody')
const say = (text) => (card.querySelector('.summary').textContent = text)

function onRecord({ data }) {
  const { method, route, status, outcome, code, bytesIn, bytesOut, ms } = JSON.parse(data)
  const row = document.createElement('tr')
  row.dataset.outcome = outcome
  row.append(
    element('td', route ?? (method === null ? 'no request' : `${method}, no route`)),
    element('td', status === null ? outcome : `${status} ${outcome}`),
    element('td', code ?? ''),
    element('td', `${sizeOf(bytesIn)} / ${sizeOf(bytesOut)}`),
    element('td', `${ms} ms`),
  )
  rows.prepend(row)
  if (rows.childElementCount > SHOWN_RECORDS) rows.lastElementChild.remove()
}

let stream = null
function listen() {
  stream = new EventSource('records')
  stream.onopen = () => say('Listening. Send something above.')
  stream.onmessage = onRecord
  stream.onerror = () => say('The server cannot be reached.')
}

/** A browser opens at most six connections to a server, for all its pages, so a hidden page should not hold one. */
document.addEventListener('visibilitychange', () => {
  stream.close()
  if (document.hidden) say('Not listening.')
  else listen()
})

/** A request that is aborted before its response: the stream of the clock never ends by itself. */
card.querySelector('#records-leave').addEventListener('click', async () => {
  const leaving = new AbortController()
  await fetch('clock', { signal: leaving.signal }).catch(() => {})
  leaving.abort()
})

listen()
