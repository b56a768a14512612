// Runs the demo on 127.0.0.1:2015, or on the port in the environment variable PORT, until SIGINT or SIGTERM.

import { demoServer } from './app.ts'

const ADDRESS = '127.0.0.1'
const DEFAULT_PORT = 2015

/** Prints one line, for a person at a terminal, and sets the exit code for the program that started this one. */
function giveUp(message: string): void {
  console.error(message)
  process.exitCode = 1
}

function whyNot(error: unknown, port: number): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `Port ${port} on ${ADDRESS} is in use by another program. Set PORT to choose another one.`
  return `Cannot listen on ${ADDRESS}:${port}: ${message}`
}

async function main(): Promise<void> {
  const asked = process.env['PORT'] || String(DEFAULT_PORT)
  const port = Number(asked)
  if (!/^\d+$/.test(asked) || port > 65535) return giveUp(`PORT is ${JSON.stringify(asked)}, not a port number from 0 to 65535.`)
  const server = demoServer({ address: ADDRESS, port })
  try {
    await server.start()
  } catch (error) {
    return giveUp(whyNot(error, port))
  }
  console.log(`The demo is listening on http://${ADDRESS}:${server.port}/ until Ctrl+C.`)
  await server.run({ signals: ['SIGINT', 'SIGTERM'] })
  console.log('Stopped.')
}

await main()
