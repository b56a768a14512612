// One guest is one test: the same program is driven on node:http and inside weir, and what its clients saw is compared.
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { test } from 'node:test'

import { Client } from './client.mjs'
import { HOSTS, serveGuest } from './serve-guest.mjs'

/** Where `run.mjs` finds the rows of its table. */
const RESULTS = process.env.GUEST_RESULTS

/**
 * @param name the package, which is also the name of its row
 * @param options `kind`: the table; `driven`: what the client does, in words; `app()`: makes the guest (see serveGuest); `drive(client)`: sends
 *   requests and checks the responses; `mask`: pairs of a pattern and its replacement, for what differs from run to run; `hide`: fields whose values do; `packages`: those
 *   whose versions are shown, by default `[name]`; `differs`: what is different inside weir, in words, with `compare: false`
 */
export function guest(name, { kind = 'middleware', driven, app, drive, mask = [], hide = [], packages = [name], differs = '', compare = true, hosts = HOSTS }) {
  test(name, async (t) => {
    const row = { name, kind, version: packages.map(versionOf).join(', '), driven, differs, result: {} }
    const transcripts = new Map()
    try {
      for (const host of hosts) {
        await t.test(host, async () => {
          row.result[host] = 'failed'
          transcripts.set(host, await visit(host, app, drive, { mask, hide }))
          row.result[host] = 'passed'
        })
      }
      const [expected, ...others] = hosts.map((host) => transcripts.get(host))
      if (compare && expected !== undefined)
        for (const [i, other] of others.entries())
          if (other !== undefined)
            await t.test('the same on both', () => {
              row.result[hosts[i + 1]] = 'differs'
              assert.deepEqual(other, expected)
              row.result[hosts[i + 1]] = 'passed'
            })
    } finally {
      if (RESULTS) appendFileSync(RESULTS, `${JSON.stringify(row)}\n`)
    }
  })
}

async function visit(host, app, drive, { mask, hide }) {
  const made = await app()
  const served = await serveGuest(made, host).catch(async (error) => {
    await made.close?.()
    throw error
  })
  const client = new Client(served)
  try {
    await drive(client, served)
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

const require = createRequire(import.meta.url)

export function versionOf(name) {
  let folder = dirname(require.resolve.paths(name)[0])
  for (; folder !== '/'; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, 'utf8')).version
    } catch {}
  }
  throw new Error(`${name} is not installed`)
}

export function temporaryFolder() {
  const folder = `${import.meta.dirname}/../.temporary`
  mkdirSync(folder, { recursive: true })
  return folder
}
