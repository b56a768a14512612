// docs/guide/dashboard.md as a newcomer follows it, up to Grafana: its program on the packed package, its configuration, its commands.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { installPacked, run, userEnvironment } from '../../packages/weirjs/test/support/packed-package.ts'
import { noPrometheus, Prometheus } from '../../packages/weirjs/test/support/prometheus.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'
import { freePort } from '../proxies/proxy.ts'

const PAGE = readFileSync('docs/guide/dashboard.md', 'utf8')
const BLOCKS = [...PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({ language: language!, code: code! }))

/** The block of this language that contains `word`. */
function block(language: string, word: string): string {
  const found = BLOCKS.filter((one) => one.language === language && one.code.includes(word))
  assert.equal(found.length, 1, `${language} with ${word}`)
  return found[0]!.code
}

/** Runs a program of the page until the test ends. */
function runUntilEnd(t: TestContext, folder: string, command: string, args: readonly string[]): void {
  const child = spawn(command, args, { cwd: folder, env: userEnvironment(), stdio: 'ignore' })
  const gone = new Promise((resolve) => child.once('close', resolve))
  t.after(async () => {
    child.kill('SIGTERM')
    await gone
  })
}

test('its server, Prometheus and queries work as printed', { skip: noPrometheus || noCurl }, async (t) => {
  const folder = temporaryDirectory(t)
  installPacked(folder)
  // The ports of the page may be in use here.
  const [port, admin, prometheusPort] = [await freePort(), await freePort(), await freePort()]
  const onPorts = (code: string): string =>
    code.replaceAll('8080', String(port)).replaceAll('9100', String(admin)).replaceAll('9090', String(prometheusPort))
  // Slower than anything else can be on a busy machine.
  writeFileSync(join(folder, 'server.js'), onPorts(block('js', 'HttpServer')).replace('Math.random() * 500', '2000'))
  writeFileSync(join(folder, 'prometheus.yml'), onPorts(block('yaml', 'job_name')).replace('5s', '500ms'))
  runUntilEnd(t, folder, process.execPath, ['server.js'])
  const reads = async (url: string): Promise<string> =>
    await fetch(url, { headers: { connection: 'close' } }).then(
      (response) => response.text(),
      () => '',
    )
  let metrics = ''
  await eventually(async () => {
    metrics = await reads(`http://127.0.0.1:${admin}/metrics`)
    return metrics !== ''
  }, 'metrics')
  assert.match(run('sh', ['-c', onPorts(block('sh', '/metrics'))], folder), /^# TYPE http_server_request_duration_seconds histogram$/m)
  assert.doesNotMatch(await reads(`http://127.0.0.1:${port}/metrics`), /^# TYPE/m)

  const [command, ...args] = onPorts(block('sh', 'prometheus --config'))
    .trim()
    .split(/(?: \\\n)? +/)
  runUntilEnd(t, folder, command!, args)
  const prometheus = Prometheus.at(prometheusPort)
  const requests = onPorts(block('sh', 'while true')).replace('while true; do', 'for i in 1 2; do')
  const query = block('promql', 'rate(').trim()
  let routes: string[] = []
  for (let attempt = 0; attempt < 100 && routes.length < 5; attempt++) {
    run('sh', ['-c', requests], folder)
    const found = await prometheus.query(query).catch(() => [])
    routes = found.map(({ labels }) => labels['http_route'] ?? '').sort()
  }
  assert.deepEqual(routes, ['', '/broken', '/metrics', '/slow', '/users/:id'])
  const [slowest] = await prometheus.query(
    'topk(1, histogram_quantile(0.95, sum by (le, http_route) (rate(http_server_request_duration_seconds_bucket[1m]))))',
  )
  assert.equal(slowest!.labels['http_route'], '/slow')
})
