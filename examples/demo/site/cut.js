// An upload that is cut in the middle, and goes on: the protocol tus, in five requests.

import { element } from './element.js'
import { send, textOf } from './send.js'
import { playedBy } from './show.js'
import { sizeOf } from './size.js'
import { whenSeen } from './tabs.js'

const SIZE = 64 * 1024 * 1024
/** The page cuts the connection when the browser has passed on this part of the bytes. */
const CUT_AT = 0.4
/** `getRandomValues` fills no more at a time. */
const RANDOM_BYTES = 65_536
const TUS = { 'Tus-Resumable': '1.0.0' }

const card = document.querySelector('#cut')
const steps = card.querySelector('.steps')
const [before, after] = card.querySelectorAll('.journey .bar')
const say = (text) => (card.querySelector('.summary').textContent = text)
const widen = (bar, bytes) => (bar.style.inlineSize = `${(bytes / SIZE) * 100}%`)

/** Sends a request, and adds it to the list with what came back. */
async function step(ask, note, signal, onProgress) {
  const line = document.createElement('li')
  const shown = element('span', '…')
  line.append(element('code', `${ask.method} ${ask.target.replace(/(?<=\/parts\/).*/, '…')}`), ' ', element('span', note), ' ', shown)
  steps.append(line)
  const { response, error } = await send({ ...ask, fields: { ...TUS, ...ask.fields } }, signal, onProgress)
  const end = (text) => shown.replaceChildren(element('strong', response ? `${response.status} ${response.statusText}` : 'Cut'), ` ${text}`)
  end(error ?? '')
  return { response, end }
}

const isGood = ({ response }) => response?.status >= 200 && response.status < 300

async function run() {
  steps.replaceChildren()
  for (const bar of [before, after]) widen(bar, 0)
  say('Making 64 MiB of random bytes.')
  const file = randomFile()
  const own = await hashOf(file)

  say('Sending.')
  const created = await step({ method: 'POST', target: '/parts', fields: { 'Upload-Length': SIZE } }, 'Upload-Length: 67108864')
  if (!isGood(created)) return say('The server has refused the upload. It takes four at a time: try again in a minute.')
  const target = new URL(created.response.getResponseHeader('Location'), location.href).pathname
  created.end('The server keeps a place for it.')

  const cutting = new AbortController()
  let passedOn = 0
  const first = await append(target, file, 0, cutting.signal, (sent) => {
    widen(before, (passedOn = sent))
    if (sent > SIZE * CUT_AT) cutting.abort()
  })
  if (first.response) return say('It was complete before the page could cut it. Try again.')
  first.end(`by the page, when the browser had passed on ${sizeOf(passedOn)}.`)

  let last = null
  let offset = 0
  do {
    const asked = await step({ method: 'HEAD', target }, '')
    if (!isGood(asked)) return say('The server does not know the upload any more.')
    offset = Number(asked.response.getResponseHeader('Upload-Offset'))
    widen(before, offset)
    asked.end(`Upload-Offset: ${offset}. So much has arrived.`)
    last = await append(target, file, offset, undefined, (sent) => widen(after, sent))
  } while (last.response?.status === 409) // the end of the first part was still on its way to the disk
  if (!isGood(last)) return say('The rest could not be sent.')
  const { bytes, sha256 } = JSON.parse(textOf(last.response))
  last.end(`${bytes} bytes, SHA-256 ${sha256.slice(0, 12)}…`)
  const isSame = own === sha256
  const deleted = await step({ method: 'DELETE', target }, '')
  deleted.end('Nothing of it is kept.')
  say(`${isSame ? 'The same SHA-256 on both sides' : 'The SHA-256 differs'}: ${sizeOf(offset)} were not sent again.`)
}

function append(target, file, offset, signal, onProgress) {
  const fields = { 'Upload-Offset': offset }
  const ask = { method: 'PATCH', target, type: 'application/offset+octet-stream', fields, body: file.slice(offset) }
  return step(ask, `Upload-Offset: ${offset}`, signal, onProgress)
}

function randomFile() {
  const bytes = new Uint8Array(SIZE)
  for (let at = 0; at < SIZE; at += RANDOM_BYTES) crypto.getRandomValues(bytes.subarray(at, at + RANDOM_BYTES))
  return new Blob([bytes])
}

async function hashOf(file) {
  const hash = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

const begin = playedBy(card.querySelector('#cut-play'), () => run().catch(({ message }) => say(message)))
whenSeen(card.querySelector('.answer'), begin, 0.5)
