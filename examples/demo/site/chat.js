// One room at a time. What others say is inserted as text.

import { element } from './element.js'

const SHOWN_LINES = 200
/** What the codes mean with which a server closes (RFC 6455, section 7.4.1). */
const REASONS = {
  1000: 'You have left.',
  1001: 'The server has stopped.',
  1006: 'The server cannot be reached, or refused the connection.',
  1009: 'That message was too long: the server closed the connection.',
}

const chat = document.querySelector('#chat')
const joining = chat.querySelector('#chat-join')
const saying = chat.querySelector('#chat-say')
const log = chat.querySelector('.log')
const limit = chat.querySelector('#chat-limit')

/** Null while the page is not in a room. */
let socket = null
let maxMessageBytes = 0

/** What to do for each kind of event from the server. */
const events = {
  welcome(event) {
    maxMessageBytes = event.maxMessageBytes
    showLimit()
    saying.elements.text.focus()
  },
  joined: ({ name, people }) => showPeople(`${name} has joined.`, people),
  left: ({ name, people }) => showPeople(`${name} has left.`, people),
  said: ({ name, text }) => addLine('', element('strong', name), ' ', element('span', text)),
}

function join() {
  const { name, room } = joining.elements
  const url = new URL(`chat/${encodeURIComponent(room.value)}?name=${encodeURIComponent(name.value)}`, location.href)
  url.protocol = url.protocol.replace('http', 'ws')
  socket = new WebSocket(url)
  socket.onmessage = ({ data }) => {
    const event = JSON.parse(data)
    events[event.event](event)
  }
  socket.onclose = ({ code, reason }) => {
    socket = null
    show(REASONS[code] ?? `Closed by the server: ${code} ${reason}`)
  }
  show('Joining.')
}

/** Shows whether the page is in a room, and why. */
function show(status) {
  const hadFocus = saying.contains(document.activeElement)
  chat.querySelector('.summary').textContent = status
  joining.querySelector('fieldset').disabled = socket !== null
  joining.querySelector('button').textContent = socket ? 'Leave' : 'Join'
  saying.querySelector('fieldset').disabled = socket === null
  if (hadFocus && !socket) joining.querySelector('button').focus()
}

function showPeople(news, people) {
  addLine('news', news)
  chat.querySelector('.summary').textContent = `In ${joining.elements.room.value}: ${people.join(', ')}.`
}

function addLine(className, ...content) {
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 8
  const line = element('p', '', className)
  line.append(...content)
  log.append(line)
  if (log.childElementCount > SHOWN_LINES) log.firstElementChild.remove()
  if (isAtEnd) log.scrollTop = log.scrollHeight // somebody who has scrolled up is reading
}

/** Longer messages can still be sent, to see what the server does. */
function showLimit() {
  const bytes = new TextEncoder().encode(saying.elements.text.value).length
  const isBeyond = bytes > maxMessageBytes
  limit.textContent = `${bytes} of ${maxMessageBytes} bytes${isBeyond ? ': the server will close the connection' : ''}`
  limit.classList.toggle('beyond', isBeyond)
}

joining.addEventListener('submit', (event) => {
  event.preventDefault()
  if (socket) socket.close(1000)
  else join()
})
saying.addEventListener('input', showLimit)
saying.addEventListener('submit', (event) => {
  event.preventDefault()
  socket.send(saying.elements.text.value)
  saying.elements.text.value = ''
  showLimit()
})
