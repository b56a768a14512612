import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { connect } from 'weirjs/testing'

import { createServer } from '../src/app.ts'

function browser(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'app-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return connect(createServer({ folder, logger: null }), { cookies: true })
}

const credentials = (name: string) => ({
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({ name, password: 'correct horse' }).toString(),
})

test('a user signs up, uploads a file and reads it', async (t) => {
  const page = browser(t)
  assert.equal((await page.get('/api/files')).status, 401)
  assert.equal((await page.post('/api/sign-up', credentials('ann'))).status, 200)
  const body = new FormData()
  body.append('file', new File(['hello'], 'hello.txt'))
  assert.deepEqual((await page.post('/api/files', { body })).json(), { count: 1 })
  assert.deepEqual((await page.get('/api/files')).json(), [{ id: 1, name: 'hello.txt', size: 5 }])
  assert.equal((await page.get('/api/files/1')).text(), 'hello')
  assert.equal((await page.post('/api/sign-out')).status, 204)
  assert.equal((await page.get('/api/files/1')).status, 401)
})

test('a wrong password, a taken name and the file of somebody else', async (t) => {
  const page = browser(t)
  assert.equal((await page.post('/api/sign-in', credentials('ann'))).status, 401)
  assert.equal((await page.post('/api/sign-up', credentials('ann'))).status, 200)
  assert.equal((await page.post('/api/sign-up', credentials('ann'))).status, 409)
  assert.equal((await page.get('/api/files/1')).status, 404)
})
