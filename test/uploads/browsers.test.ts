// tus-js-client and Uppy in Chromium, on a page of another origin: an upload that breaks in the middle goes on at another server.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { patternBytes } from '../../packages/weirjs/test/support/forms.ts'
import { noS3, startS3 } from '../../packages/weirjs/test/support/s3.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const MIB = 1024 * 1024
const SIZE = 13 * MIB + 77
const HASH = createHash('sha256').update(patternBytes(SIZE)).digest('hex')

interface PageGlobals {
  sendWithTus(endpoint: string, size: number, more?: object): Promise<string>
  sendWithUppy(endpoint: string, size: number): Promise<string>
  sent?: number
}

interface Machine {
  readonly port: number
  readonly child: ChildProcess
  /** Of the requests that would append, with the status of the response. */
  readonly offsets: (readonly [offset: number, status: number])[]
  readonly completed: { readonly size: number; readonly name: string; readonly type: string; readonly hash: string }[]
}

async function startMachine(t: TestContext, settings: object): Promise<Machine> {
  const child = spawn(process.execPath, ['build/test/uploads/upload-server.js', JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const [first] = (await once(lines, 'line')) as [string]
  const machine: Machine = { port: Number(first), child, offsets: [], completed: [] }
  lines.on('line', (line: string) => {
    const seen = JSON.parse(line)
    if ('offset' in seen) machine.offsets.push([seen.offset, seen.status])
    else machine.completed.push(seen)
  })
  return machine
}

/** A port whose connections go to a server of the test's choice, and break when the test says so. */
class Switch {
  target: number
  /** Called with the number of bytes from clients so far. */
  onBytes: (count: number) => void = () => {}
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #count = 0

  private constructor(target: number) {
    this.target = target
    this.#server = createServer((near) => {
      const far = connect(this.target, '127.0.0.1')
      near.on('data', (chunk) => {
        this.#count += chunk.length
        this.onBytes(this.#count)
      })
      near.pipe(far).pipe(near)
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one)
        one.on('error', () => {}) // 'close' follows
        one.on('close', () => {
          this.#sockets.delete(one)
          other.destroy()
        })
      }
    })
  }

  static async start(t: TestContext, target: number): Promise<Switch> {
    const made = new Switch(target)
    await once(made.#server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => {
      made.#server.close()
      made.cut()
    })
    return made
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Passes on no more bytes from clients. */
  pause(): void {
    for (const socket of this.#sockets) socket.pause()
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }
}

describe('clients in Chromium', { skip: noChromium || noS3 }, () => {
  let browser: Browser
  let pages: HttpServer
  before(async () => {
    const bundle = await rolldown({ input: 'test/uploads/page.mjs', platform: 'browser', logLevel: 'silent' })
    const { output } = await bundle.generate({ format: 'iife', codeSplitting: false })
    await bundle.close()
    pages = new HttpServer()
    pages.mapGet('/', (_, { response }) => response.html('<!doctype html><title>Uploads</title><script src="page.js"></script>'))
    pages.mapGet('/page.js', (_, { response }) => response.header('Content-Type', 'text/javascript').text(output[0].code))
    await pages.start()
    browser = await launchChromium()
  })
  after(async () => {
    await browser?.close()
    await pages?.stop({ graceMs: 0 })
  })

  async function openPage(t: TestContext): Promise<Page> {
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${pages.port}/`)
    return page
  }

  const origin = (): string => `http://127.0.0.1:${pages.port}`
  interface Shared {
    readonly settings: object
    /** Whether some bytes of an upload are durable. */
    hasBytes(): Promise<boolean>
  }
  const shares: [storage: string, of: (t: TestContext) => Promise<Shared>][] = [
    [
      'on disk',
      async (t) => {
        const directory = temporaryDirectory(t)
        const hasBytes = async (): Promise<boolean> =>
          readdirSync(directory).some((name) => name.endsWith('.bin') && statSync(join(directory, name)).size > 0)
        return { settings: { origin: origin(), directory }, hasBytes }
      },
    ],
    [
      'in S3',
      async (t) => {
        const { endpoint, bucket, keys } = await startS3(t)
        return {
          settings: { origin: origin(), endpoint, bucket },
          hasBytes: async () => (await keys()).some((key) => key.endsWith('.state')),
        }
      },
    ],
  ]
  for (const [storage, shareOf] of shares) {
    for (const client of ['sendWithTus', 'sendWithUppy'] as const) {
      test(`${client === 'sendWithTus' ? 'tus-js-client' : 'Uppy'}, ${storage}: goes on at another server when the first one dies`, async (t) => {
        const { settings, hasBytes } = await shareOf(t)
        const [first, second] = await Promise.all([startMachine(t, settings), startMachine(t, settings)])
        const road = await Switch.start(t, first.port)
        const dies = async (): Promise<void> => {
          road.pause()
          await eventually(hasBytes, 'bytes that are durable')
          road.target = second.port
          first.child.kill('SIGKILL')
          road.cut()
        }
        let dying: Promise<void> | null = null
        road.onBytes = (count) => {
          if (count >= 8 * MIB) dying ??= dies()
        }
        const page = await openPage(t)
        const endpoint = `http://127.0.0.1:${road.port}/files`
        const url = await page.evaluate(([name, to, size]) => (globalThis as unknown as PageGlobals)[name](to, size), [
          client,
          endpoint,
          SIZE,
        ] as const)
        assert.match(url, new RegExp(`^${endpoint}/[A-Za-z0-9_-]{32}$`))
        await dying
        await eventually(() => second.completed.length > 0, 'the complete upload')
        assert.deepEqual(second.completed, [{ size: SIZE, name: 'picture.png', type: 'image/png', hash: HASH }])
        assert.deepEqual(first.completed, [])
        // Chromium itself repeats a request at once whose connection breaks: it is refused, because some of its bytes have arrived.
        const [appended, ...others] = second.offsets.filter(([, status]) => status !== 409)
        assert.deepEqual([appended![1], others], [204, []])
        assert.ok(appended![0] > 0, 'nothing that is durable is sent again')
      })
    }
  }

  test('tus-js-client goes on with what a page has begun that was closed', async (t) => {
    const machine = await startMachine(t, { origin: origin(), directory: temporaryDirectory(t) })
    const road = await Switch.start(t, machine.port)
    const page = await openPage(t)
    const endpoint = `http://127.0.0.1:${road.port}/files`
    const context = page.context()
    const half = new Promise<void>((resolve) => {
      road.onBytes = (count) => count > 6 * MIB && resolve()
    })
    const begun = page.evaluate(([to, size]) => (globalThis as unknown as PageGlobals).sendWithTus(to, size, { chunkSize: 5_000_000 }), [
      endpoint,
      SIZE,
    ] as const)
    begun.catch(() => {}) // the page is closed
    await half
    await page.close()
    const other = await context.newPage()
    await other.goto(origin())
    await other.evaluate(([to, size]) => (globalThis as unknown as PageGlobals).sendWithTus(to, size), [endpoint, SIZE] as const)
    assert.deepEqual(machine.completed, [{ size: SIZE, name: 'picture.png', type: 'image/png', hash: HASH }])
    assert.ok(machine.offsets.at(-1)![0] >= 5_000_000, String(machine.offsets))
  })
})
