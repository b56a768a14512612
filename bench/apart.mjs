// Parts that are measured in their own way, after the workloads: `{ id, title, isQuick, measure({ pinning, quick, say }) → Markdown }`.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { coldStart } from './cold-start.mjs'
import { onCore, SERVER_CORE } from './machine.mjs'

const IDLE_CONNECTIONS = 10_000
const COLD_STARTS = { full: 30, quick: 8 }
const PATIENCE_MS = 600_000

export const APART = [
  {
    id: 'w9',
    name: 'Idle connections',
    title: `memory per idle keep-alive connection, ${IDLE_CONNECTIONS.toLocaleString('en')} of them`,
    async measure({ pinning, say }) {
      say('w9: idle connections')
      const stdout = await outputOf(
        onCore(pinning, SERVER_CORE, process.execPath, [pathOf('idle.mjs'), '--connections', String(IDLE_CONNECTIONS)]),
      )
      const lines = stdout.split('\n').filter((line) => line !== '')
      return [
        ...lines.map((line) => `- ${line}`),
        '',
        'Measured with `node bench/idle.mjs`, after a collection, without what the server needs when it has no connections.',
      ].join('\n')
    },
  },
  {
    id: 'w10',
    name: 'Cold start',
    title: 'cold start: a process that answers its first request',
    async measure({ pinning, quick, say }) {
      const rounds = quick ? COLD_STARTS.quick : COLD_STARTS.full
      const text = await coldStart({ rounds, pinning, say })
      return `${text}\n\nMedians of ${rounds} starts, measured with \`node bench/cold-start.mjs\`; ± is the 95 % confidence interval. The time of node:net is that of Node itself.`
    },
  },
  {
    id: 'w11',
    name: '1 GiB to disk',
    title: '1 GiB of form streamed to disk',
    isQuick: false,
    async measure({ say }) {
      say('w11: uploads')
      const args = ['--rounds', '11', '--memory', '100,1024']
      const stdout = await outputOf({ command: process.execPath, args: [pathOf('uploads.mjs'), ...args] })
      const figures = stdout.slice(stdout.indexOf('###')).trim().replaceAll('###', '####')
      return `${figures}\n\nMeasured with \`node bench/uploads.mjs ${args.join(' ')}\`; busboy is node:http with busboy, and raw is node:http that saves the body unparsed.`
    },
  },
]

const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url))

async function outputOf({ command, args }) {
  const { stdout } = await promisify(execFile)(command, args, { timeout: PATIENCE_MS, encoding: 'utf8' })
  return stdout
}
