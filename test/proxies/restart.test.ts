// Two servers behind a proxy, restarted in turn under load: no client sees a failure. With a configuration of our own, and with those of
// docs/guide/deploy.md.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { absent, freePort, noHaproxy, noNginx, run, runHaproxy, startBalancer, temporaryFolder } from './proxy.ts'
import { restartInTurn } from './restart-in-turn.ts'

test('servers that are restarted in turn under load lose no request', { skip: noHaproxy }, (t) =>
  restartInTurn(t, (ports) => startBalancer(t, ports)),
)

test('nor do they behind an HAProxy that speaks HTTP/2 to them', { skip: noHaproxy }, (t) =>
  restartInTurn(t, (ports) => startBalancer(t, ports, 'proto h2'), 'cleartext'),
)

/** The block of the page in that language, with ports of the test. */
function documented(language: string, front: number, ports: readonly number[]): string {
  const page = readFileSync('docs/guide/deploy.md', 'utf8')
  const [, block] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)!
  return block!
    .replace(/listen 80;|bind :80$/m, (line) => line.replace(/:?80/, `127.0.0.1:${front}`))
    .replaceAll('8081', String(ports[0]))
    .replaceAll('8082', String(ports[1]))
}

test('with the HAProxy of the documentation', { skip: noHaproxy }, (t) =>
  restartInTurn(t, async (ports) => (await runHaproxy(t, (front) => documented('haproxy', front, ports))).port),
)

test('with the nginx of the documentation', { skip: noNginx }, (t) => restartInTurn(t, (ports) => startNginx(t, ports)))

async function startNginx(t: TestContext, ports: readonly number[]): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'nginx.conf')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')
  const http = `access_log off;\n${places}\n${documented('nginx', port, ports)}`
  writeFileSync(file, `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nevents {}\nhttp {\n${http}}\n`)
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return port
}

const noAnalyze = absent('systemd-analyze', '--version')

test('systemd accepts the units of the documentation', { skip: noAnalyze }, async (t) => {
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const page = readFileSync('docs/guide/deploy.md', 'utf8')
  const files = [...page.matchAll(/^```ini\n# \/etc\/systemd\/system\/(\S+)\n([\s\S]*?)^```$/gm)].map(([, name, unit]) => {
    const file = join(folder, name!)
    writeFileSync(file, unit!.replace('/usr/bin/node', process.execPath))
    return file
  })
  assert.equal(files.length, 2)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
})
