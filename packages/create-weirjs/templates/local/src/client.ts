// Counts one more, from a terminal: node src/client.ts
import { findLocal } from 'weirjs/local'

const tool = await findLocal('{{name}}')
if (tool === null) {
  console.error('It does not run: npm start')
  process.exit(1)
}
const headers = { Authorization: `Bearer ${tool.token}`, 'Content-Type': 'application/json' }
const response = await fetch(`${tool.url}/api/count`, { method: 'POST', headers, body: '{}' })
console.log(await response.json())
