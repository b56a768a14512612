#!/usr/bin/env node
// `npm create weirjs`: asks what to create, creates it, and says what to do next.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline/promises'

import { complete, givenBy, USAGE, UsageError } from './answers.ts'
import { createProgram } from './create.ts'

/** Node runs TypeScript without options from 22.18 on. */
const RUNS_TYPESCRIPT = [22, 18]

async function main(): Promise<number> {
  const given = givenBy(process.argv.slice(2))
  if (given === null) return print(USAGE)
  const mayAsk = process.stdin.isTTY && !given.asksNothing
  const lines = mayAsk ? createInterface({ input: process.stdin, output: process.stdout }) : null
  // Without a terminal, no one can be asked: the defaults apply.
  const { folder, template, install, git } = await complete(given, (question) => lines?.question(question) ?? Promise.resolve(''))
  lines?.close()

  const home = join(import.meta.dirname, '..')
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { readonly version: string }
  const path = createProgram(folder, template, join(home, 'templates'), version)
  if (git) run('git', ['init', '--quiet'], path)
  const isInstalled = install && run('npm', ['install'], path)

  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isOld = major < RUNS_TYPESCRIPT[0]! || (major === RUNS_TYPESCRIPT[0] && minor < RUNS_TYPESCRIPT[1]!)
  const where = relative(process.cwd(), path)
  print(`
Created ${where === '' ? '.' : where}. Next:

${where === '' ? '' : `  cd ${where}\n`}${isInstalled ? '' : '  npm install\n'}  npm run dev     runs the program, and again after each change
  npm test        runs its tests
${isOld ? '\nThe program is TypeScript, which Node runs from version 22.18 on. This is Node '.concat(process.versions.node, '.\n') : ''}`)
  return 0
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** @returns whether it worked. A person can do a missing step later. */
function run(command: string, args: readonly string[], cwd: string): boolean {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
  return status === 0
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${USAGE}`)
  process.exitCode = 2
}
