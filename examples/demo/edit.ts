// An edit under `weir dev`, while requests arrive.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Module } from 'weirjs'

import { show } from './show.ts'

const EVERY_MS = 25
/** How many requests each version answers before the next step. */
const ENOUGH = 20
const TOLD_EVERY_MS = 100
const LONGEST_MS = 60_000

const program = (version: string): string => `import { HttpServer } from 'weirjs'

const server = new HttpServer('127.0.0.1', 0)
server.get('/', () => '${version}')
await server.run()
`

/** A request, in milliseconds since the first one. */
interface Asked {
  readonly at: number
  /** When it was answered, and with what. Null until then. */
  end: number | null
  version: string | null
  /** Why it was not answered. */
  error: string | null
}

export function edit(): Module {
  return show('/edit', 'Edits a program under weir dev, while requests arrive', async (tell, stopping) => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-demo-'))
    try {
      await writeProject(folder)
      const weir = startWeir(folder)
      const ended = once(weir, 'exit')
      try {
        await play(weir, join(folder, 'app.js'), tell, AbortSignal.any([stopping, AbortSignal.timeout(LONGEST_MS)]))
      } finally {
        weir.kill('SIGTERM')
        await ended
      }
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  })
}

async function writeProject(folder: string): Promise<void> {
  await mkdir(join(folder, 'node_modules'))
  await symlink(folderOf('weirjs'), join(folder, 'node_modules/weirjs'), 'junction')
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'app.js'), program('first'))
}

async function play(weir: ChildProcess, file: string, tell: (state: object) => void, signal: AbortSignal): Promise<void> {
  const port = await portOf(weir, signal)
  const start = performance.now()
  const now = (): number => Math.round(performance.now() - start)
  const asked: Asked[] = []
  let savedAt: number | null = null
  const asking = setInterval(() => asked.push(ask(port, now)), EVERY_MS)
  const telling = setInterval(() => tell({ now: now(), savedAt, asked }), TOLD_EVERY_MS)
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) await sleep(EVERY_MS, null, { signal })
  }
  const isAnswered = (version: string): boolean => asked.filter((one) => one.version === version).length >= ENOUGH
  try {
    await until(() => isAnswered('first'))
    savedAt = now()
    await writeFile(file, program('second'))
    await until(() => isAnswered('second'))
    clearInterval(asking)
    await until(() => asked.every(({ end }) => end !== null))
    tell({ now: now(), savedAt, asked })
  } finally {
    clearInterval(asking)
    clearInterval(telling)
  }
}

/** Because of the channel, it ends with the process of the demo, however that ends. */
function startWeir(folder: string): ChildProcess {
  const command = join(folderOf('@weirjs/dev'), 'dist/cli/main.js')
  const env = { ...process.env, NODE_ENV: 'development', NO_COLOR: '1' }
  return spawn(process.execPath, [command, 'dev', 'app.js'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
}

function portOf(weir: ChildProcess, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    weir.stderr!.setEncoding('utf8').on('data', (text) => {
      said += text
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    weir.once('exit', () => reject(new Error(`weir dev has ended: ${said}`)))
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** On a connection of its own. */
function ask(port: number, now: () => number): Asked {
  const asked: Asked = { at: now(), end: null, version: null, error: null }
  const end = (error: Error | null): void => {
    asked.error ??= error?.message ?? null
    asked.end ??= now()
  }
  const request = get({ host: '127.0.0.1', port, agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (piece) => (text += piece))
    response.on('error', end)
    response.on('end', () => {
      asked.version = text
      end(null)
    })
  })
  request.on('error', end)
  return asked
}

/** Of a package that is installed, or linked. */
function folderOf(name: string): string {
  return dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
}
