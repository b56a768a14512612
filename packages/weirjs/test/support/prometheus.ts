// Prometheus and promtool for one test.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { absent, freePort } from '../../../../test/proxies/proxy.ts'

import { eventually } from './serving.ts'

export const noPrometheus: string | false = absent('prometheus', '--version')
export const noPromtool: string | false = absent('promtool', '--version')

/** What `promtool check metrics` says of a text; empty if it has nothing to say. */
export function promtoolSays(text: string): string {
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  return stdout + stderr + (status === 0 ? '' : `exit code ${status}`)
}

/** A Prometheus that scrapes one server twice a second. It stops with the test. */
export class Prometheus {
  readonly #port: number

  private constructor(port: number) {
    this.#port = port
  }

  /** One that a test has started itself. */
  static at(port: number): Prometheus {
    return new Prometheus(port)
  }

  static async start(t: TestContext, target: number): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'weir-prometheus-'))
    const config = join(folder, 'prometheus.yml')
    writeFileSync(
      config,
      `scrape_configs:\n  - job_name: weir\n    scrape_interval: 500ms\n    scrape_timeout: 500ms\n    static_configs:\n      - targets: ['127.0.0.1:${target}']\n`,
    )
    const port = await freePort()
    const args = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ]
    const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()))
    const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
    t.after(async () => {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await gone
      clearTimeout(late)
      rmSync(folder, { recursive: true, force: true })
    })
    await ready(child, port, () => said)
    return new Prometheus(port)
  }

  /** The values of an instant query, with their labels. */
  async query(expression: string): Promise<{ labels: Record<string, string>; value: number }[]> {
    const result = await this.#get<{ data: { result: { metric: Record<string, string>; value: [number, string] }[] } }>(
      `query?query=${encodeURIComponent(expression)}`,
    )
    return result.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
  }

  /** The first value of an instant query. On a busy machine, a scrape may take too long: then there is none until the next one. */
  async firstOf(expression: string): Promise<{ labels: Record<string, string>; value: number }> {
    let found: Awaited<ReturnType<Prometheus['query']>> = []
    await eventually(async () => (found = await this.query(expression)).length > 0, `a result of ${expression}`)
    return found[0]!
  }

  /** The state of the target: `up`, and the last error of a scrape. */
  async target(): Promise<{ health: string; lastError: string }> {
    const { data } = await this.#get<{ data: { activeTargets: { health: string; lastError: string }[] } }>('targets')
    return data.activeTargets[0]!
  }

  async #get<T>(path: string): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.#port}/api/v1/${path}`, { headers: { connection: 'close' } })
    return (await response.json()) as T
  }
}

async function ready(child: ChildProcess, port: number, said: () => string): Promise<void> {
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus has ended: ${said()}`)
    const response = await fetch(`http://127.0.0.1:${port}/-/ready`, { headers: { connection: 'close' } }).catch(() => null)
    await response?.text()
    return response?.status === 200
  }, 'that Prometheus is ready')
}
