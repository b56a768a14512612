// Two servers behind a proxy, restarted in turn under load: no client sees a failure. With a configuration of our own, and with those of
// docs/guide/deploy.md.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { DEPLOYING, DOCUMENTED } from './documented.ts'
import { absent, noHaproxy, startBalancer, temporaryFolder } from './proxy.ts'
import { restartInTurn } from './restart-in-turn.ts'

test('servers that are restarted in turn under load lose no request', { skip: noHaproxy }, (t) =>
  restartInTurn(t, (ports) => startBalancer(t, ports)),
)

test('nor do they behind an HAProxy that speaks HTTP/2 to them', { skip: noHaproxy }, (t) =>
  restartInTurn(t, (ports) => startBalancer(t, ports, 'proto h2'), 'cleartext'),
)

for (const { name, missing, start } of DOCUMENTED)
  test(`with the ${name} of the documentation`, { skip: missing }, (t) => restartInTurn(t, (ports) => start(t, ports)))

const noAnalyze = absent('systemd-analyze', '--version')

test('systemd accepts the units of the documentation', { skip: noAnalyze }, async (t) => {
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = [...DEPLOYING.matchAll(/^```ini\n# \/etc\/systemd\/system\/(\S+)\n([\s\S]*?)^```$/gm)].map(([, name, unit]) => {
    const file = join(folder, name!)
    writeFileSync(file, unit!.replace('/usr/bin/node', process.execPath))
    return file
  })
  assert.equal(files.length, 4)
  // A template is checked as one of its instances.
  const instances = files.map((file) => file.replace('@.', '@1.'))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...instances], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
})
