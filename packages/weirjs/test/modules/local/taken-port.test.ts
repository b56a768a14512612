// Linux says which user has a connection by its addresses and ports alone. Another program may have got those of a connection that was reset.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

import { HttpServer } from '../../../src/index.ts'
import { local } from '../../../src/modules/local/index.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const GO = 0
const DONE = 1
const LONGEST_WAIT_MS = 120_000

/** Of another user: connects, waits, sends a request with the cookie, and resets the connection. */
const THIEF = `
  const { connect } = require('node:net')
  const [port, request] = process.argv.slice(1)
  const socket = connect(Number(port), '127.0.0.1', () => console.log(socket.localPort)).on('error', () => {})
  process.stdin.once('data', () => socket.write(request, () => socket.resetAndDestroy()))
  socket.on('close', () => process.exit())
`

/** Starts the thief. Once its connection is reset, connects from the same port as this user. */
const STAGE = `
  const { parentPort, workerData: { port, request, thief, flags } } = require('node:worker_threads')
  const child = require('node:child_process').spawn(process.execPath, ['-e', thief, String(port), request], { uid: 65_534, gid: 65_534, cwd: '/' })
  let localPort = 0
  child.stdout.once('data', (text) => {
    localPort = Number(text)
    parentPort.postMessage('connected')
    Atomics.wait(flags, ${GO}, 0)
    child.stdin.write('go')
  })
  const connectAsPerson = () => {
    const person = require('node:net').connect({ port, host: '127.0.0.1', localPort })
    person.on('error', () => setTimeout(connectAsPerson, 10)) // somebody else may have the port for a moment
    person.on('connect', () => {
      Atomics.store(flags, ${DONE}, 1)
      Atomics.notify(flags, ${DONE})
    })
  }
  child.on('close', connectAsPerson)
`

const skip = process.platform === 'linux' && process.getuid?.() === 0 ? false : 'only root on Linux can run a program of another user'

for (const where of ['', ', on an observed server'])
  test(`a request of another user is refused, although this user has its port by now${where}`, { skip }, async (t) => {
    process.env['XDG_RUNTIME_DIR'] = temporaryDirectory(t)
    const server = new HttpServer({ logger: null })
    let runs = 0
    server.mapPost('/run', () => void runs++)
    if (where !== '') server.observe({ end: () => {} })
    const running = await local(server, { name: 'taken-port' })
    t.after(() => running.stop())
    const { url, port } = running
    const page = { Origin: url, 'Sec-Fetch-Site': 'same-origin' }
    const ticket = new URL(running.newLaunchUrl()).hash.slice('#token='.length)
    const entered = await fetch(`${url}/_local/enter`, { method: 'POST', headers: { ...page, Authorization: `Bearer ${ticket}` } })
    const [cookie] = entered.headers.getSetCookie()[0]!.split(';')
    /** Connections are accepted in order: when it is done, those that began before it have been accepted too. */
    const run = async (): Promise<void> => {
      const headers = { ...page, Cookie: cookie!, Connection: 'close' }
      assert.equal((await fetch(`${url}/run`, { method: 'POST', headers })).status, 204)
    }

    const fields = { Host: `127.0.0.1:${port}`, ...page, Cookie: cookie, 'Content-Length': 0 }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    const flags = new Int32Array(new SharedArrayBuffer(8))
    const workerData = { port, request: `POST /run HTTP/1.1\r\n${lines.join('')}\r\n`, thief: THIEF, flags }
    const stage = new Worker(STAGE, { eval: true, workerData })
    t.after(() => stage.terminate())
    await once(stage, 'message')
    await run()
    Atomics.store(flags, GO, 1)
    Atomics.notify(flags, GO)
    assert.notEqual(Atomics.wait(flags, DONE, 0, LONGEST_WAIT_MS), 'timed-out')
    await run()
    assert.equal(runs, 2)
  })
