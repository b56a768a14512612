// Starts processes of `upload-process.ts`.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface UploadProcess {
  readonly port: number
  readonly pid: number
  /** What it has printed about each upload. */
  readonly received: readonly { readonly size: number; readonly hash: string }[]
  /** Ends it as `kill -9` does. Resolves when it is gone. */
  kill(): Promise<void>
}

/** @param after registers what is done in the end */
export async function startUploadProcess(
  after: (end: () => unknown) => void,
  directory: string,
  {
    expiresAfterMs = 86_400_000,
    port = 0,
    shared,
    clockAheadMs = 0,
  }: { expiresAfterMs?: number; port?: number; shared?: string | number; clockAheadMs?: number } = {},
): Promise<UploadProcess> {
  const file = fileURLToPath(new URL('./upload-process.js', import.meta.url))
  const args = [file, directory, String(expiresAfterMs), String(port), ...(shared === undefined ? [] : [String(shared)])]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CLOCK_AHEAD_MS: String(clockAheadMs) },
  })
  const kill = (): Promise<void> => killed(child)
  after(kill)
  const lines = createInterface(child.stdout)
  const [first] = (await once(lines, 'line')) as [string]
  const received: { size: number; hash: string }[] = []
  lines.on('line', (line: string) => received.push(JSON.parse(line) as { size: number; hash: string }))
  return { port: Number(first), pid: child.pid!, received, kill }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
