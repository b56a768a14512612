// The same in a terminal: node client.js ~/folder [folder/in/it]

import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'

import { findLocal } from 'weirjs/local'

import { toolName } from './scan.js'

const [folder = '.', path = ''] = process.argv.slice(2)
const tool = await findLocal(toolName(await realpath(resolve(folder))))
if (tool === null) {
  console.error(`Nobody looks at ${folder}: start node main.js ${folder}`)
  process.exit(1)
}
const headers = { authorization: `Bearer ${tool.token}` }
const response = await fetch(`${tool.url}/api/folder?path=${encodeURIComponent(path)}`, { headers })
if (!response.ok) throw new Error(`${path}: ${response.status}`)
const { size, count, state, entries } = await response.json()
console.log(`${inUnits(size)} in ${count} files (${state})`)
for (const entry of entries.slice(0, 20)) {
  const bar = '█'.repeat(Math.round((entry.size / (size || 1)) * 30)).padEnd(30, '·')
  // A name may have what a terminal obeys.
  const name = entry.name.replace(/[^\P{C}]/gu, '?')
  console.log(`${inUnits(entry.size).padStart(9)}  ${bar}  ${name}${entry.isFolder ? '/' : ''}`)
}

function inUnits(bytes) {
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}
