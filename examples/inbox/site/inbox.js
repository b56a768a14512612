const [door, draft, main, list, older, status] = ['#door', '#draft', 'main', '#messages', '#older', '[role=status]'].map((one) =>
  document.querySelector(one),
)
let events = null
let next = null

/** Calls the API. A refusal is shown to the user. */
async function call(method, path, body) {
  const isForm = body instanceof FormData
  const response = await fetch(
    `api/${path}`,
    isForm || !body ? { method, body } : { method, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } },
  )
  status.textContent = ''
  if (response.ok) return response.status === 204 ? null : response.json()
  const { detail, errors = [] } = await response.json()
  status.textContent = [detail, ...errors.map(({ name, expected }) => `${name}: ${expected}`)].join(' ')
  throw new Error(detail)
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

function reply(to) {
  draft.elements.to.value = to
  draft.elements.text.focus()
}

/** Shows a message, once: it may be both in a page and among the events. */
function show({ id, from, text, sentAt, attachment }, add) {
  if (document.getElementById(`message-${id}`)) return
  const initial = element('span', { className: 'initial', ariaHidden: 'true' }, from[0].toUpperCase())
  initial.style.setProperty('--hue', [...from].reduce((sum, char) => sum * 31 + char.charCodeAt(0), 7) % 360)
  const time = element('time', { dateTime: sentAt }, new Date(sentAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' }))
  const answer = element('button', { type: 'button', onclick: () => reply(from) }, 'Reply')
  const file = attachment && element('a', { href: `api/messages/${id}/attachment` }, attachment.fileName)
  const item = element('li', { id: `message-${id}` }, initial, element('div', {}, element('strong', {}, from), time), answer)
  item.append(element('p', {}, file || text))
  list[add](item)
}

async function showOlder() {
  const page = await call('GET', `messages${next === null ? '' : `?before=${next}`}`)
  for (const message of page.messages) show(message, 'append')
  next = page.next
  older.hidden = next === null
}

function enter({ name }) {
  document.querySelector('#me').textContent = `You are ${name}.`
  document.querySelector('#who').hidden = false
  door.hidden = true
  main.hidden = false
  events = new EventSource('api/events')
  events.addEventListener('open', showOlder, { once: true })
  events.addEventListener('message', ({ data }) => show(JSON.parse(data), 'prepend'))
}

door.addEventListener('submit', async (event) => {
  event.preventDefault()
  const credentials = Object.fromEntries(new FormData(door))
  if (event.submitter.value === 'users') await call('POST', 'users', credentials)
  await call('POST', 'session', credentials)
  enter(await call('GET', 'me'))
})

draft.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { to, text, file } = Object.fromEntries(new FormData(draft))
  const form = new FormData()
  form.append('file', file)
  const account = `users/${encodeURIComponent(to)}`
  if (text !== '' || file.size === 0) await call('POST', `${account}/messages`, { text })
  if (file.size > 0) await call('POST', `${account}/files`, form)
  draft.reset()
  status.textContent = 'Sent.'
  setTimeout(() => status.textContent === 'Sent.' && (status.textContent = ''), 4000)
})

older.addEventListener('click', showOlder)
document.querySelector('#leave').addEventListener('click', async () => {
  events.close()
  await call('DELETE', 'session')
  location.reload()
})

// Who has not signed in yet gets 401, which is no mistake that the page would have to show.
const me = await fetch('api/me')
if (me.ok) enter(await me.json())
else door.hidden = false
