// The routes, of both pages. Each form is sent as it describes, and the response is shown. All of the response is inserted as text, never as markup,
// because the server may repeat what it received.

import { element } from './element.js'
import { send } from './send.js'
import { sizeOf } from './size.js'
import { addTabs, whenSeen } from './tabs.js'

/** The request of each form, from its values, for a multipart form the form itself, and the ETag that was last received. */
const asks = {
  user({ id, active }) {
    const query = active === '' ? '' : `?active=${active}`
    return { method: 'GET', target: `/users/${encodeURIComponent(id)}${query}` }
  },
  save: ({ type, body }) => ({ method: 'POST', target: '/api/user/save', type, body }),
  upload: (_, form) => ({ method: 'POST', target: '/api/user/upload', body: form }),
  uploadStream: (_, form) => ({ method: 'POST', target: '/api/user/upload-stream', body: form }),
  page: () => ({ method: 'GET', target: '/' }),
  team({ team, person, route }) {
    const [method, path] = route.split(' ')
    return { method, target: `/teams/${encodeURIComponent(team)}${path === '/' ? '' : path}`, fields: signedIn(person) }
  },
  picture: ({ person, file }) => ({ method: 'POST', target: '/teams/blue/pictures', fields: signedIn(person), body: file }),
  explain: ({ verb, path }) => ({ method: 'GET', target: `/explain?${new URLSearchParams({ method: verb, target: path })}` }),
  whoami({ client, host, proto }) {
    const fields = { 'X-Forwarded-For': client, 'X-Forwarded-Host': host, 'X-Forwarded-Proto': proto }
    return { method: 'GET', target: '/whoami', fields: present(fields) }
  },
  reading: ({ type, body }) => ({ method: 'POST', target: '/gauge/readings', type, body }),
  photo: (_, form) => ({ method: 'POST', target: '/gauge/photos', body: form }),
  outline: ({ type, body }) => ({ method: 'POST', target: '/gauge/outline', type, body }),
  level: ({ unit, station }) => ({
    method: 'GET',
    target: '/gauge/level',
    fields: present({ 'X-Unit': unit }),
    cookie: station && `station=${station}`,
  }),
  keeper: ({ id }) => ({ method: 'GET', target: `/gauge/keepers/${encodeURIComponent(id)}` }),
  levels: ({ tag }, _, received) => ({ method: 'GET', target: '/gauge/levels', fields: present({ 'If-None-Match': tag && received }) }),
  sluice({ verb, open, tag }, _, received) {
    const fields = present({ [verb === 'GET' ? 'If-None-Match' : 'If-Match']: tag === 'received' ? received : tag })
    if (verb === 'GET') return { method: verb, target: '/gauge/sluice', fields }
    return { method: verb, target: '/gauge/sluice', type: 'application/json', fields, body: `{ "open": ${open} }` }
  },
  deprecated: () => ({ method: 'GET', target: '/gauge/all-levels' }),
  search: ({ type, body }) => ({ method: 'QUERY', target: '/routes', type, body }),
  inside: ({ path }) => ({ method: 'GET', target: `/inside?${new URLSearchParams({ target: path })}` }),
}

function signedIn(person) {
  return person === '' ? {} : { Authorization: `Bearer ${person}` }
}

/** The fields that have a value. */
function present(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))
}

/** The initial body of a form for each type, and the user's changes to it. */
const drafts = {
  save: {
    'text/plain': 'Hello from the page. Grüße! Καλημέρα!',
    'application/json': `{
  "id": "0e37df36-f698-11e6-8dd4-cb9ced3df976",
  "name": "Ada",
  "creation": "2024-01-31T09:30:00",
  "enabled": true
}`,
    'application/x-www-form-urlencoded': 'id=0e37df36-f698-11e6-8dd4-cb9ced3df976&name=Ada&creation=2024-01-31T09%3A30%3A00&enabled=true',
  },
  reading: {
    'application/json': '{ "station": "bridge", "centimetres": 212 }',
    'application/x-www-form-urlencoded': 'station=mill&centimetres=187&note=rising',
    'text/plain': '212 cm at the bridge',
  },
}

function keepDrafts({ elements: { type, body } }, drafts) {
  body.value = drafts[type.value]
  body.addEventListener('input', () => (drafts[type.value] = body.value))
  for (const choice of type) choice.addEventListener('change', () => (body.value = drafts[type.value]))
}

function prepare(form) {
  const section = form.closest('section')
  const title = section.querySelector('h2').textContent.trim().replace(/\s+/g, ' ')
  form.append(document.querySelector('#send').content.cloneNode(true))
  const answer = document.createElement('div')
  answer.className = 'answer'
  answer.append(document.querySelector('#answer').content.cloneNode(true))
  section.append(answer)
  form.querySelector('button').setAttribute('aria-label', `Send ${title}`)
  answer.querySelector('.body').setAttribute('aria-label', `Body of the response to ${title}`)

  let tag = ''
  let asked = null
  const read = () => {
    const data = new FormData(form)
    // Where no file was chosen, a form has an empty one without a name.
    for (const [name, value] of [...data]) if (value instanceof File && value.name === '') data.delete(name)
    const ask = asks[form.dataset.ask](Object.fromEntries(data), data, tag)
    // Read back from a URL, because the browser may change a target (`/users/..`) and this shows what is really sent.
    const { pathname, search } = new URL(ask.target, location.href)
    return { ...ask, target: pathname + search }
  }
  const preview = form.querySelector('.preview')
  const showPreview = () => {
    const { method, target } = read()
    preview.textContent = `${method} ${target}`
  }
  form.addEventListener('input', showPreview)
  showPreview()
  const showProgress = form.querySelector('[type=file]') ? progressOf(form) : () => {}

  const responded = addTabs(answer, { card: form.dataset.ask, title, ask: () => asked ?? read() })

  let running = null
  const ask = async (onProgress) => {
    running?.abort() // a second request before the first response: only the last one is shown
    const own = (running = new AbortController())
    asked = read()
    answer.ariaBusy = 'true'
    const result = await send(asked, own.signal, onProgress)
    if (own.signal.aborted) return
    show(answer, asked, result)
    tag = result.response?.getResponseHeader('ETag') ?? tag
    answer.ariaBusy = 'false'
    responded()
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    ask(showProgress)
  })
  // Each card begins with a response. Only a person can choose a file: without one, the response says what is missing.
  const hasFile = () => [...form.querySelectorAll('[type=file]')].some(({ files }) => files.length > 0)
  whenSeen(section, () => running ?? (hasFile() || ask()))
}

/** Adds a progress bar to a form. @returns a function that updates it */
function progressOf(form) {
  form.querySelector('.send').before(document.querySelector('#progress').content.cloneNode(true))
  const bar = form.querySelector('progress')
  const words = form.querySelector('.sent')
  return (sent, total) => {
    bar.value = sent / total
    words.textContent = `${sizeOf(sent)} of ${sizeOf(total)} sent.`
  }
}

/** Names and values of the fields of a response. */
function fieldsOf(response) {
  const lines = response
    .getAllResponseHeaders()
    .split('\r\n')
    .filter((line) => line !== '')
  return lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
}

function show(answer, ask, { response, ms, error }) {
  const summary = answer.querySelector('.summary')
  const details = answer.querySelector('.details')
  const status = error ? 'No answer' : `${response.status} ${response.statusText}`.trim()
  const reason = error ? [element('span', error)] : []
  answer.dataset.kind = error ? 'none' : String(response.status)[0]
  summary.replaceChildren(
    element('strong', status),
    ' ',
    element('code', `${ask.method} ${ask.target}`),
    ' ',
    element('span', `${ms.toFixed(1)} ms`),
    ' ',
    ...reason,
  )
  details.hidden = error !== undefined
  if (error) return
  const bytes = response.response
  answer.querySelector('dl').replaceChildren(...fieldsOf(response).flatMap(([name, value]) => [element('dt', name), element('dd', value)]))
  answer.querySelector('.size').textContent = `Body, ${bytes.byteLength} ${bytes.byteLength === 1 ? 'byte' : 'bytes'}`
  answer.querySelector('.body pre').textContent = new TextDecoder().decode(bytes)
  answer.querySelector('.body').scrollTop = 0
}

for (const form of document.querySelectorAll('[data-ask]')) {
  if (drafts[form.dataset.ask]) keepDrafts(form, drafts[form.dataset.ask])
  prepare(form)
}
