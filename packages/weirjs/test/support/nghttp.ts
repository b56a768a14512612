// nghttp as a client: nghttp2's own, from the Debian package nghttp2-client.

import { spawn, spawnSync } from 'node:child_process'

/** Why tests with nghttp cannot run here, or false. */
export const noNghttp: string | false =
  spawnSync('nghttp', ['--version']).status === 0 ? false : 'nghttp is not on the PATH: install nghttp2-client to run these tests'

export interface NghttpRun {
  readonly exitCode: number
  /** What it printed: the bodies of all responses, and frames if it was asked to be verbose. */
  readonly output: string
}

/** Runs `nghttp`. It runs asynchronously, because the server under test is in this same process. */
export async function nghttp(args: readonly string[]): Promise<NghttpRun> {
  const child = spawn('nghttp', ['--timeout=20', '--no-verify-peer', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const exitCode = await new Promise<number>((resolve, reject) => child.once('error', reject).once('close', (code) => resolve(code ?? -1)))
  return { exitCode, output }
}
