import assert from 'node:assert/strict'
import { test } from 'node:test'

import { client } from 'weirjs/client'

import { createServer } from '../src/app.ts'
import { api } from '../src/contract.ts'

function notesClient() {
  const server = createServer({ logger: null })
  return { server, notes: client(api, 'http://notes.test', { fetch: server.fetch }) }
}

test('a note is added, changed and removed', async () => {
  const { notes } = notesClient()
  const { status, body: note } = await notes.addNote({ body: { text: 'buy milk' } })
  assert.equal(status, 201)
  assert.deepEqual(note, { id: 1, text: 'buy milk', done: false })
  await notes.changeNote({ id: 1, body: { done: true } })
  assert.deepEqual((await notes.notes({ done: true })).body, [{ ...note, done: true }])
  assert.equal((await notes.removeNote({ id: 1 })).status, 204)
  assert.equal((await notes.note({ id: 1 })).status, 404)
})

test('a note without text is refused, and the response says what was expected', async () => {
  const { server } = notesClient()
  const response = await server.inject({ method: 'POST', url: '/notes', json: { text: 5 } })
  assert.equal(response.status, 400)
  assert.match(response.text(), /"pointer":"\/text"/)
})

test('a page of another site cannot add a note', async () => {
  const { server, notes } = notesClient()
  const headers = { Origin: 'https://other.example', 'Content-Type': 'application/x-www-form-urlencoded' }
  const response = await server.inject({ method: 'POST', url: '/notes', headers, body: 'text=buy+milk' })
  assert.equal(response.status, 403)
  assert.deepEqual((await notes.notes({})).body, [])
})
