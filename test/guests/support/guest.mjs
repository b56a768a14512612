// One guest is one test: the same program is driven on node:http and inside weir, and what its clients received is compared.
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'

import { Client } from './client.mjs'
import { NODE_HTTP, serveGuest, WEIR } from './serve-guest.mjs'

/** The file to which tests add their rows, for `run.mjs`. */
const RESULTS = process.env.GUEST_RESULTS
/** With a name and a host, a test file serves that guest, and tests nothing: `cpu.mjs` measures it. */
const { GUEST_SERVED, GUEST_HOST } = process.env

/**
 * @param name the package, which is also the name of its row
 * @param options `kind`: the table; `driven`: what the client does, in words; `app()`: makes the guest (see serveGuest); `drive(client, served, made)`:
 *   sends requests and checks the responses; `mask`: pairs of a pattern and its replacement, for what differs from run to run; `hide`:
 *   fields whose values do; `packages`: those whose versions are shown, by default `[name]`; `differs`: what is different inside weir, in
 *   words; `measured`: the path whose CPU time is measured; `more`: hosts on which it is driven too, without a comparison
 */
export function guest(name, options) {
  if (GUEST_SERVED !== undefined) {
    if (GUEST_SERVED === name) serveForMeasuring(options)
    return
  }
  const { kind = 'middleware', driven, packages = [name], differs = '', more = [], measured = null } = options
  test(name, async (t) => {
    const row = { name, kind, version: versionsOf(packages), driven, differs, measured, file: process.argv[1], result: {} }
    const transcripts = new Map()
    try {
      for (const host of [NODE_HTTP, WEIR, ...more]) {
        await t.test(host, async () => {
          row.result[host] = 'failed'
          transcripts.set(host, await visit(host, options))
          row.result[host] = 'passed'
        })
      }
      if (!transcripts.has(NODE_HTTP) || !transcripts.has(WEIR)) return
      await t.test('the same on both', () => {
        if (row.result[WEIR] === 'passed') row.result[WEIR] = 'differs'
        assert.deepEqual(transcripts.get(WEIR), transcripts.get(NODE_HTTP))
        row.result[WEIR] = 'passed'
      })
    } finally {
      if (RESULTS) appendFileSync(RESULTS, `${JSON.stringify(row)}\n`)
    }
  })
}

async function visit(host, { app, drive, mask = [], hide = [] }) {
  const made = await app()
  const served = await serveGuest(made, host).catch(async (error) => {
    await made.close?.()
    throw error
  })
  const client = new Client(served)
  try {
    await drive(client, served, made)
  } catch (error) {
    for (const { message, detail } of served.faults ?? []) console.error(`weir logged: ${message}`, detail)
    throw error
  } finally {
    client.close()
    await served.close()
  }
  for (const { value } of client.transcript) for (const name of hide) if (value?.headers?.[name]) value.headers[name] = '*'
  let text = JSON.stringify(client.transcript).replaceAll(served.origin, 'http://HOST').replaceAll(`127.0.0.1:${served.port}`, 'HOST')
  for (const [pattern, replacement] of mask) text = text.replace(pattern, replacement)
  return JSON.parse(text)
}

async function serveForMeasuring({ app }) {
  const { port } = await serveGuest(await app(), GUEST_HOST)
  process.on('message', () => process.send(process.cpuUsage()))
  process.once('disconnect', () => process.exit())
  process.send({ port })
}

function versionsOf(packages) {
  if (packages.length === 1) return versionOf(packages[0])
  return packages.map((name) => `${name} ${versionOf(name)}`).join(', ')
}

function versionOf(name) {
  for (let folder = import.meta.dirname; folder !== '/'; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, 'utf8')).version
    } catch {}
  }
  throw new Error(`${name} is not installed`)
}
