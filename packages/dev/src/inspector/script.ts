// The script of the inspector's page. Clients choose almost everything that it shows, so it only ever sets text and attributes, and never
// markup: the page's policy requires that as well.

export const SCRIPT = `const base = document.body.dataset.base
const $ = (id) => document.getElementById(id)
const MOST_ROWS = 500
const FROM = ' from '
const BUFFER = 'Buffer'
const QUOTE = String.fromCharCode(39)
const SLASHED_QUOTE = QUOTE + String.fromCharCode(92) + QUOTE + QUOTE
const CRLF = String.fromCharCode(13, 10)
const LF = String.fromCharCode(10)

// Removes the token in the link to the page, which is no longer needed.
function forgetToken() {
  if (location.hash !== '') history.replaceState(null, '', location.pathname)
}
addEventListener('hashchange', forgetToken)
forgetToken()

let exchanges = []
let selected = null
let isPaused = false

function element(tag, properties, ...children) {
  const { role, selected: isSelected, ...rest } = properties ?? {}
  const made = Object.assign(document.createElement(tag), rest)
  if (role !== undefined) made.setAttribute('role', role)
  if (isSelected !== undefined) made.setAttribute('aria-selected', String(isSelected))
  made.append(...children.filter((child) => child !== null && child !== undefined))
  return made
}

function classOf(one) {
  if (one.outcome === 'failed' || one.status >= 500) return 'bad'
  if (one.rpcStatus !== null && one.rpcStatus.toLowerCase() !== 'ok') return 'warn'
  if ((one.status === null && one.kind !== 'upgrade') || one.status >= 400 || one.outcome !== 'completed') return 'warn'
  return 'good'
}

function milliseconds(ms) {
  if (ms === null) return ''
  return ms < 10 ? ms.toFixed(1) + ' ms' : ms < 10000 ? Math.round(ms) + ' ms' : (ms / 1000).toFixed(1) + ' s'
}

function size(bytes) {
  if (bytes < 1024) return bytes + ' B'
  return bytes < 1024 * 1024 ? (bytes / 1024).toFixed(1) + ' KiB' : (bytes / 1024 / 1024).toFixed(1) + ' MiB'
}

function title(one) {
  return one.method === null ? { head: 'A head that was refused', tls: 'A TLS handshake that failed', connection: 'A connection that was refused' }[one.kind] : one.url
}

function placeOf(one) {
  return one.route ?? one.answeredBy ?? (one.kind === 'request' ? 'no route' : one.kind)
}

function rowOf(one) {
  const row = element('li', { className: 'row', id: 'row-' + one.number, role: 'option', selected: one.number === selected },
    element('span', { className: 'status ' + classOf(one) }, one.status ?? (one.kind === 'upgrade' ? 'end' : '---')),
    element('span', { className: 'what', title: title(one) ?? '' },
      one.method === null ? null : element('span', { className: 'method' + (one.method === 'GET' || one.method === 'HEAD' ? '' : ' changes') }, one.method + ' '),
      title(one) ?? ''),
    element('span', { className: 'time' }, milliseconds(one.durationMs)),
    element('span', { className: 'when' },
      element('span', {}, placeOf(one)),
      element('span', {}, (one.outcome === 'completed' ? '' : one.outcome + ' · ') + (one.rpcStatus === null ? '' : one.rpcStatus + ' · ') + new Date(one.startedAt).toLocaleTimeString())))
  row.addEventListener('click', () => select(one.number, true))
  return row
}

// Selects the last failure, which a person who opens the page usually looks for.
function chooseFirst() {
  const newest = (name) => exchanges.find((one) => classOf(one) === name)
  const first = newest('bad') ?? newest('warn') ?? exchanges[0]
  if (first !== undefined) void select(first.number, false)
}

function shown() {
  const words = $('filter').value.toLowerCase().split(' ').filter((word) => word !== '')
  const textOf = (one) => [one.method, one.url, one.status, one.outcome, one.route, one.answeredBy, one.code, one.rpcStatus, one.kind].join(' ').toLowerCase()
  return exchanges.filter((one) => words.every((word) => textOf(one).includes(word)))
}

function draw() {
  const some = shown()
  $('rows').replaceChildren(...some.map(rowOf))
  $('empty').hidden = some.length > 0
  $('empty').textContent = exchanges.length === 0 ? 'No requests yet. Send one to this server, and it appears here.' : 'No request fits the filter.'
  mark()
}

function mark() {
  for (const row of $('rows').children) row.setAttribute('aria-selected', String(row.id === 'row-' + selected))
  if (selected !== null && $('row-' + selected) !== null) $('rows').setAttribute('aria-activedescendant', 'row-' + selected)
  else $('rows').removeAttribute('aria-activedescendant')
}

async function load() {
  const response = await fetch(base + '/exchanges')
  if (!response.ok) throw new Error('status ' + response.status)
  exchanges = (await response.json()).reverse()
  draw()
}

function add(one) {
  exchanges = [one, ...exchanges.filter((other) => other.number !== one.number)].slice(0, MOST_ROWS)
  if (!shown().includes(one)) return
  $('rows').prepend(rowOf(one))
  while ($('rows').children.length > MOST_ROWS) $('rows').lastChild.remove()
  $('empty').hidden = true
}

const isNarrow = () => matchMedia('(max-width: 52rem)').matches

async function select(number, opens) {
  selected = number
  mark()
  $('row-' + number)?.scrollIntoView({ block: 'nearest' })
  if (!opens && isNarrow()) return // the details would take the place of the list
  const response = await fetch(base + '/exchanges/' + number)
  if (selected !== number) return
  const one = response.ok ? await response.json() : null
  if (selected !== number) return
  const detail = $('detail')
  detail.hidden = false
  document.body.classList.add('open')
  detail.replaceChildren(...(one === null ? [element('p', {}, 'This exchange is no longer kept.')] : detailOf(one)))
  detail.scrollTop = 0
  if (opens && isNarrow()) $('back').focus()
}

function close() {
  selected = null
  $('detail').hidden = true
  document.body.classList.remove('open')
  mark()
  $('rows').focus()
}

function detailOf(one) {
  const back = element('button', { type: 'button', id: 'back' }, 'Back to the list')
  back.addEventListener('click', close)
  const facts = [one.status ?? (one.kind === 'upgrade' ? 'end of the connection' : 'no response'), one.outcome, one.rpcStatus, one.code, one.protocol, placeOf(one), one.clientAddress, one.requestId,
    size(one.bytesIn) + ' in', size(one.bytesOut) + ' out'].filter((fact) => fact !== null && fact !== '')
  return [
    back,
    element('h2', {}, (one.method ?? '') + ' ' + (title(one) ?? '')),
    element('p', { className: 'facts' }, facts.join(' · ')),
    one.kind === 'request' ? actionsOf(one) : null,
    ...section('Timing', one.kind === 'request' ? stagesOf(one) : null),
    ...section('Error', one.error === null ? null : errorOf(one.error)),
    ...section('Request', one.requestHead === '' ? null : messageOf(one.requestHead, one.requestBody)),
    ...section('Response', one.responseHead === null ? null : messageOf(one.responseHead, one.responseBody)),
    ...section('Messages', one.messages === null ? null : messagesOf(one.messages)),
    ...section('Log', one.lines.length === 0 ? null : element('pre', {}, one.lines.join(LF))),
    ...section('Explanation', one.explanation === null ? null : element('pre', {}, one.explanation)),
  ].filter((part) => part !== null)
}

function section(name, content) {
  return content === null ? [] : [element('h3', {}, name), content]
}

function stagesOf({ stages, durationMs }) {
  const named = [['gates and body', stages.waitMs], ['handler', stages.handlerMs], ['to the first byte', stages.sendMs], ['rest of the response', stages.bodyMs]]
  const parts = named.filter(([, ms]) => ms !== null).flatMap(([name, ms]) => [
    element('span', {}, name),
    element('meter', { max: Math.max(durationMs, 0.001), value: ms, ariaLabel: name }),
    element('span', { className: 'time' }, milliseconds(ms)),
  ])
  return element('div', { className: 'stages' }, ...parts, element('span', {}, 'total'), element('span', {}), element('span', { className: 'time' }, milliseconds(durationMs)))
}

function messageOf(head, body) {
  const parts = [element('pre', {}, head.split(CRLF).join(LF).trimEnd())]
  if (body !== null) {
    if (body.text !== '') parts.push(element('pre', {}, body.isBase64 ? body.text : pretty(body.text)))
    const notes = { large: 'only the beginning is kept', stream: 'streamed, and not read to its end', coded: 'not kept, because it has a content coding' }
    const facts = [body.length === null ? null : size(body.length), body.isBase64 ? 'shown as base64' : null, notes[body.cut] ?? null]
    parts.push(element('p', { className: 'note' }, facts.filter((fact) => fact !== null).join(' · ')))
  }
  return element('div', {}, ...parts)
}

function messagesOf({ count, kept }) {
  const rows = kept.map((message) => {
    const facts = [message.isFromClient ? 'received' : 'sent', new Date(message.at).toLocaleTimeString(), message.length + (message.isBinary ? ' bytes' : ' characters'),
      message.isBinary ? 'shown as base64' : null, message.isCut ? 'only the beginning is kept' : null]
    return element('li', { className: message.isFromClient ? 'received' : 'sent' }, element('p', { className: 'note' }, facts.filter((fact) => fact !== null).join(' · ')), element('pre', {}, message.text))
  })
  const note = count > kept.length ? count + ' in all, of which the last ' + kept.length + ' are kept.' : count + ' so far.'
  return element('div', {}, element('p', { className: 'note' }, note + ' Choose the exchange again for newer ones.'), element('ol', { className: 'messages' }, ...rows))
}

function pretty(text) {
  if (!text.startsWith('{') && !text.startsWith('[')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function errorOf({ texts, frames }) {
  const parts = texts.map((text, i) => element('pre', { className: 'bad' }, (i === 0 ? '' : 'caused by ') + text))
  for (const frame of frames.filter((one) => one.isProgram)) {
    const place = (frame.name === '' ? '' : frame.name + ' ') + frame.file + ':' + frame.line + ':' + frame.column
    const lines = (frame.source?.lines ?? []).map((line, i) => {
      const number = frame.source.first + i
      return element('span', { className: 'line' + (number === frame.line ? ' here' : '') }, String(number).padStart(5) + '  ' + line)
    })
    parts.push(element('div', { className: 'frame' }, element('p', { className: 'note' }, place), lines.length === 0 ? null : element('pre', {}, ...lines)))
  }
  return element('div', {}, ...parts)
}

const DROPPED = ['host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade']

function fieldsOf(one) {
  return one.requestHead.split(CRLF).slice(1).filter((line) => line.includes(': ')).map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)])
    .filter(([name]) => !DROPPED.includes(name.toLowerCase()))
}

function quoted(text) {
  return QUOTE + text.split(QUOTE).join(SLASHED_QUOTE) + QUOTE
}

function urlOf(one) {
  return one.url.startsWith('/') ? location.origin + one.url : one.url
}

function curlOf(one) {
  const words = ['curl', '--globoff', '--path-as-is', '-i', '-X', quoted(one.method)]
  for (const [name, value] of fieldsOf(one)) words.push('-H', quoted(value === '' ? name + ';' : name + ': ' + value))
  const body = one.requestBody
  let before = ''
  if (body !== null && body.text !== '') {
    if (body.isBase64) before = 'echo ' + body.text + ' | base64 -d | '
    words.push(body.isBase64 ? '--data-binary' : '--data-raw', body.isBase64 ? '@-' : quoted(body.text))
  }
  return before + words.join(' ') + ' -- ' + quoted(urlOf(one))
}

function requestOf(one) {
  const body = one.requestBody
  const lines = ['method: ' + JSON.stringify(one.method), 'url: ' + JSON.stringify(one.url)]
  const fields = fieldsOf(one)
  if (fields.length > 0) lines.push('headers: ' + JSON.stringify(fields))
  if (body !== null && body.text !== '')
    lines.push('body: ' + (body.isBase64 ? BUFFER + '.from(' + JSON.stringify(body.text) + ', "base64")' : JSON.stringify(body.text)))
  return '{' + LF + lines.map((line) => '    ' + line + ',' + LF).join('') + '  }'
}

function injectOf(one) {
  return 'const response = await server.inject(' + requestOf(one) + ')'
}

function testOf(one) {
  const lines = [
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    '',
    'import { server }' + FROM + quoted('./app.js'),
    '',
    'test(' + JSON.stringify(one.method + ' ' + one.url) + ', async () => {',
    '  const response = await server.inject(' + requestOf(one) + ')',
    '  assert.equal(response.status, ' + one.status + ')',
  ]
  const body = one.responseBody
  if (body !== null && body.cut === null && !body.isBase64 && body.text !== '') {
    const json = pretty(body.text) !== body.text || body.text === '{}' || body.text === '[]'
    lines.push(json ? '  assert.deepEqual(response.json(), ' + JSON.stringify(JSON.parse(body.text)) + ')' : '  assert.equal(response.text(), ' + JSON.stringify(body.text) + ')')
  }
  return lines.join(LF) + LF + '})' + LF
}

function actionsOf(one) {
  const said = element('span', { className: 'note', role: 'status' })
  const button = (name, act) => {
    const made = element('button', { type: 'button' }, name)
    made.addEventListener('click', act)
    return made
  }
  const copy = (text) => async () => {
    try {
      await navigator.clipboard.writeText(text)
      said.textContent = 'Copied'
    } catch {
      said.replaceChildren(element('pre', {}, text))
    }
  }
  const save = () => {
    const url = URL.createObjectURL(new Blob([testOf(one)], { type: 'text/javascript' }))
    element('a', { href: url, download: 'exchange-' + one.number + '.test.js' }).click()
    setTimeout(() => URL.revokeObjectURL(url), 1000)
  }
  return element('div', { className: 'actions' }, button('Copy as curl', copy(curlOf(one))), button('Copy as inject', copy(injectOf(one))), button('Save as test', save), said)
}

$('filter').addEventListener('input', draw)
$('clear').addEventListener('click', () => fetch(base + '/clear', { method: 'POST' }))
$('pause').addEventListener('click', async () => {
  isPaused = !isPaused
  $('pause').setAttribute('aria-pressed', String(isPaused))
  if (!isPaused) await load()
})
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || ![$('rows'), document.body].includes(document.activeElement)) return
  const some = shown()
  const at = some.findIndex((one) => one.number === selected)
  if (event.key === 'Enter' && at !== -1) void select(selected, true)
  const next = { ArrowDown: at + 1, ArrowUp: at === -1 ? 0 : at - 1, Home: 0, End: some.length - 1 }[event.key]
  if (next === undefined || some.length === 0) return
  event.preventDefault()
  void select(some[Math.min(Math.max(next, 0), some.length - 1)].number, false)
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && selected !== null) close()
  else if (event.key === '/' && document.activeElement !== $('filter')) {
    event.preventDefault()
    $('filter').focus()
  }
})

function say(text, name) {
  $('state').textContent = text
  $('state').className = name
}

const events = new EventSource(base + '/events')
let isFirst = true
events.addEventListener('open', () => load().then(() => {
  say('Live', 'live')
  if (isFirst && selected === null) chooseFirst()
  if (isFirst && document.activeElement === document.body) $('rows').focus()
  isFirst = false
}, (error) => say(String(error), 'lost')))
events.addEventListener('error', () => say('Connecting again', 'lost'))
events.addEventListener('message', (event) => {
  const told = JSON.parse(event.data)
  if (isPaused) return
  if (told.kind === 'reload') void load()
  else add(told.summary)
})
`
