import { spawn } from 'node:child_process'

import { local } from 'weirjs/local'

import { createServer } from './app.ts'

const running = await local(createServer(), { name: '{{name}}' })
const url = running.newLaunchUrl()
console.log(url)
if (!process.argv.includes('--no-open')) open(url)
process.once('SIGINT', () => running.stop())
process.once('SIGTERM', () => running.stop())

function open(url: string): void {
  const commands: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }
  const [command, ...args] = commands[process.platform] ?? ['xdg-open']
  spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
