// Runs a program of README.md in its folder, makes the calls on the page, and stops it like Ctrl+C.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

import { run, userEnvironment } from './packed-package.ts'
import { README_CALLS, type ReadmeCall, type ReadmeProgram } from './readme-programs.ts'
import { within } from './serving.ts'

/** The port of the programs, as printed. It is replaced with a free one, so that no two tests use the same. */
const PRINTED = 'http://127.0.0.1:2015'
/** Without the settings and the proxies of the user who runs the tests. */
const CURL = "curl --disable --silent --show-error --noproxy '*'"
/** `--json` exists since curl 7.82. */
const hasCurl = spawnSync('curl', ['--help', 'all'], { encoding: 'utf8' }).stdout?.includes('--json') ?? false
const ANY_PORT = new URL('../../../../test/package/any-port.js', import.meta.url).href

/**
 * Runs the commands of a program as printed, the last of which starts it.
 * @param node the program that `node` means in them
 * @param calls are made once it listens
 */
export async function runReadmeProgram(
  t: TestContext,
  { commands }: ReadmeProgram,
  folder: string,
  node: string,
  calls: readonly ReadmeCall[] = README_CALLS,
): Promise<void> {
  const env = userEnvironment(node)
  for (const command of commands.slice(0, -1)) runInShell(command, folder, env)
  const [program, ...args] = commands.at(-1)!.split(' ')
  const child = spawn(program!, args, { cwd: folder, env: { ...env, NODE_OPTIONS: `--import ${ANY_PORT}` }, stdio: 'pipe' })
  t.after(() => child.kill('SIGKILL'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk))
  const closed = once(child, 'close')
  const started = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [, origin] = /^(?:Try|Listening on) (http:\/\/127\.0\.0\.1:\d+)(?:\/\S+)?\n$/.exec(printed) ?? []
      if (origin !== undefined) resolve(origin)
    })
    closed.then(() => reject(new Error(`it ended: ${printed}`)), reject)
  })
  const origin = await within(started, 'the address')
  if (!hasCurl) t.diagnostic('curl 7.82 is not on the PATH: the program was started, but not called')
  for (const { command, prints } of hasCurl ? calls : [])
    assert.equal(unbroken(runInShell(command.replace('curl', CURL).replace(PRINTED, origin), folder, env)), unbroken(prints))
  child.kill('SIGINT')
  assert.deepEqual(await within(closed, 'the end'), [0, null], printed)
}

/** The page breaks long lines. */
function unbroken(text: string): string {
  return text.replace(/\s+/g, '')
}

export function runInShell(command: string, folder: string, env: NodeJS.ProcessEnv): string {
  return run('sh', ['-c', command], folder, env)
}
