// The programs with which pages begin, and what they print: each block of code with the name of a file is written to that file, `main.ts` is
// started, and the commands below it are run. So what a page shows is what a reader gets.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'

import { temporaryDirectory } from '../packages/weirjs/test/support/temporary.ts'

export interface Program {
  readonly name: string
  /** The text of the page above it. */
  readonly above: string
  readonly files: readonly { readonly file: string; readonly code: string }[]
  readonly calls: readonly { readonly command: string; readonly printed: string }[]
  /** What the program itself prints, which is a second block that begins with `$ node main.ts`; null if the page does not say. */
  readonly logged: string | null
}

const FILE = '^```ts \\[[\\w.]+\\]\\n(?:(?!```)[\\s\\S])*?^```\\n\\n'
const TERMINAL = '^```console\\n([\\s\\S]*?)^```$'
const GROUP = new RegExp(`((?:${FILE})+)${TERMINAL}(?:\\n\\n^\`\`\`console\\n\\$ node main\\.ts\\n([\\s\\S]*?)^\`\`\`$)?`, 'gm')

export function programsOf(path: string, text: string): Program[] {
  return [...text.matchAll(GROUP)].map(({ 1: sources, 2: terminal, 3: logged, index }, i) => {
    const files = [...sources!.matchAll(/^```ts \[(.+)\]\n([\s\S]*?)^```$/gm)].map(([, file, code]) => ({ file: file!, code: code! }))
    const calls = [...terminal!.matchAll(/^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm)]
    return {
      name: `${path.replace(/\.md$/, '').replace(/[\\/]/g, '-')}-program-${i + 1}`,
      above: text.slice(0, index),
      files,
      calls: calls.map(([, command, printed]) => ({ command: command!, printed: printed! })),
      logged: logged ?? null,
    }
  })
}

/** The ports of the programs, as printed. Each gets a free one in its place, and tells it to this test. */
const PRINTED_PORTS = /\b(?:2015|8080)\b/g
const TELL_PORT = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs'
  import { Server } from 'node:net'
  const { listen } = Server.prototype
  Server.prototype.listen = function (options, ...rest) {
    this.once('listening', () => writeSync(3, String(this.address().port)))
    return Reflect.apply(listen, this, [{ ...options, port: 0 }, ...rest])
  }`)}`
/** How long a line may take that the program prints after a response. */
const PATIENCE = 30_000

/** @param compiled where the JavaScript of a file is */
export async function runProgram(t: TestContext, { files, calls, logged }: Program, compiled: (file: string) => string): Promise<void> {
  let stop = (): unknown => undefined
  t.after(() => stop()) // before the directory is removed, into which it may still write
  const cwd = temporaryDirectory(t)
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, XDG_RUNTIME_DIR: cwd }
  const child = spawn(process.execPath, ['--import', TELL_PORT, resolve(compiled('main.ts'))], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  stop = () => {
    child.kill('SIGKILL')
    return exited
  }
  let [output, complaint] = ['', '']
  child.stdout!.setEncoding('utf8').on('data', (text) => (output += text))
  child.stderr!.on('data', (chunk) => (complaint += chunk))
  const ended = exited.then(() => assert.fail(`it ended: ${complaint}`))
  const [port] = (await Promise.race([once(child.stdio[3] as Readable, 'data'), ended])) as [Buffer]
  const here = (text: string) => text.replace(PRINTED_PORTS, String(port))
  for (const { file } of files.filter(({ file }) => file !== 'main.ts'))
    writeFileSync(compiled(file), here(readFileSync(compiled(file), 'utf8')))

  const runs = calls.map(({ command }) =>
    here(command)
      .replaceAll('curl ', "curl --disable --silent --show-error --noproxy '*' ")
      .replace(/^node (\S+)/, (_, file: string) => `${process.execPath} ${resolve(compiled(file))}`),
  )
  const { stdout, stderr } = spawnSync('sh', ['-c', runs.join("\nprintf '\\0'\n")], { cwd, env, encoding: 'utf8' })
  const outputs = stdout.split('\0')
  for (const [i, { command, printed }] of calls.entries())
    assert.match(squeezed(outputs[i] ?? ''), patternOf(here(printed)), `${command}\n${stderr}${complaint}`)

  if (logged === null) return
  const pattern = patternOf(here(logged))
  for (const signal = AbortSignal.timeout(PATIENCE); !pattern.test(squeezed(output)) && !signal.aborted; )
    await once(child.stdout!, 'data', { signal }).catch(() => {})
  assert.match(squeezed(output), pattern, complaint)
}

/** What differs from run to run is `…`. */
function patternOf(printed: string): RegExp {
  const parts = squeezed(printed).split('…')
  return new RegExp(`^${parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('.+?')}$`)
}

/** Lines of output are as long on the page as they fit. */
export function squeezed(text: string): string {
  return text.replace(/\s+/g, '')
}
