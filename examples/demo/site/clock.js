// The clock of the server, and how the browser reconnects after the stream has ended.

import { element } from './element.js'

const SHOWN_TICKS = 12
/** A tick that is this many milliseconds later than others was missed, and kept by the server. */
const LATE_MS = 500

const clock = document.querySelector('#clock')
const ticks = clock.querySelector('.ticks')
const listenButton = clock.querySelector('#clock-listen')

/** Null while the page does not listen. */
let stream = null
let lastId = ''
/**
 * Set from the moment the browser has reconnected until the first tick that it did not miss: the id at which it was, and how many ticks it
 * missed.
 */
let back = null
/** The shortest time between a tick and its arrival: the latency, plus the difference between the two clocks. */
let delay = Number.POSITIVE_INFINITY

/** A screen reader reads this aloud, so it changes when something happens, and not every second. */
function say(text) {
  clock.querySelector('.summary').textContent = text
}

function listen() {
  stream = new EventSource('clock')
  stream.onopen = onOpen
  stream.onmessage = onTick
  stream.onerror = onEnd
  ticks.replaceChildren()
  listenButton.textContent = 'Stop listening'
}

function stopListening() {
  stream.close()
  stream = back = null
  lastId = ''
  say('Not listening.')
  listenButton.textContent = 'Listen'
}

function onOpen() {
  if (lastId === '') say('Listening.')
  else back = { after: lastId, missed: 0 }
}

function onEnd() {
  if (stream.readyState === EventSource.CLOSED) return stopListening() // the server refused, so the browser does not reconnect
  say(lastId === '' ? 'The server cannot be reached.' : `The stream ended after ${lastId}. The browser will reconnect.`)
}

function onTick({ data, lastEventId }) {
  const time = new Date(JSON.parse(data).time)
  const late = Date.now() - time
  delay = Math.min(delay, late)
  const wasMissed = late - delay > LATE_MS
  if (back && wasMissed) back.missed++
  else if (back) {
    say(`Reconnected: the browser sent Last-Event-ID ${back.after}, and got what it had missed: ${back.missed}.`)
    back = null
  }
  lastId = lastEventId
  ticks.append(element('li', lastEventId, wasMissed ? 'missed' : ''))
  if (ticks.childElementCount > SHOWN_TICKS) ticks.firstElementChild.remove()
  showTime(time)
}

function showTime(time) {
  const shown = clock.querySelector('time')
  shown.dateTime = time.toISOString()
  shown.textContent = time.toLocaleTimeString()
  turn('.hours', (time.getHours() + time.getMinutes() / 60) / 12)
  turn('.minutes', time.getMinutes() / 60)
  turn('.seconds', time.getSeconds() / 60)
}

function turn(hand, turns) {
  clock.querySelector(hand).setAttribute('transform', `rotate(${turns * 360} 50 50)`)
}

/** A browser opens at most six connections to a server, for all its pages, so a hidden page should not hold one. */
function onVisibility() {
  if (document.hidden && stream) {
    stopListening()
    document.addEventListener('visibilitychange', listen, { once: true })
  }
}

clock.querySelector('#clock-end').addEventListener('click', () => {
  fetch('clock/end', { method: 'POST' }).catch(() => say('The server cannot be reached.'))
})
listenButton.addEventListener('click', () => (stream ? stopListening() : listen()))
document.addEventListener('visibilitychange', onVisibility)
listen()
