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

/** Shows a message, once: it may be both in a page and among the events. */
function show({ id, from, text, attachment }, add) {
  if (document.getElementById(`message-${id}`)) return
  const item = Object.assign(document.createElement('li'), { id: `message-${id}` })
  item.append(`${from}: ${text}`)
  if (attachment)
    item.append(Object.assign(document.createElement('a'), { href: `api/messages/${id}/attachment`, textContent: attachment.fileName }))
  list[add](item)
}

async function showOlder() {
  const page = await call('GET', `messages${next === null ? '' : `?before=${next}`}`)
  for (const message of page.messages) show(message, 'append')
  next = page.next
  older.hidden = next === null
}

async function enter() {
  const { name } = await call('GET', 'me')
  document.querySelector('#me').textContent = `You are ${name}.`
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
  await enter()
})

draft.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { to, text, file } = Object.fromEntries(new FormData(draft))
  const form = new FormData()
  form.append('file', file)
  await call('POST', `users/${encodeURIComponent(to)}/${file.size > 0 ? 'files' : 'messages'}`, file.size > 0 ? form : { text })
  status.textContent = 'Sent.'
  draft.reset()
})

older.addEventListener('click', showOlder)
document.querySelector('#leave').addEventListener('click', async () => {
  events.close()
  await call('DELETE', 'session')
  location.reload()
})
enter().catch(() => {}) // not signed in yet: a 401
