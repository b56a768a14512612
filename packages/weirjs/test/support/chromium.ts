// A headless Chromium that is installed on this machine. It is not downloaded, so the tests need only what a package manager installs.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

import { type Browser, chromium } from 'playwright-core'

/** Without the sandbox, because CI runs as root, and without background network traffic. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** CHROMIUM_PATH if it is set, otherwise the first of Chromium's names on the PATH or in /usr/bin; null if there is none. */
export function findChromium(): string | null {
  const own = process.env['CHROMIUM_PATH']
  if (own) return own
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin'].filter((folder) => folder !== '')
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable) ?? null
}

/** Why tests with a browser cannot run here, or false. */
export const noChromium: string | false =
  findChromium() === null ? 'no Chromium on the PATH: install it, or set CHROMIUM_PATH, to run these tests' : false

/** @param more arguments */
export function launchChromium(...more: string[]): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium()!, args: [...ARGS, ...more] })
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
