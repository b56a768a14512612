// Reads a form with busboy, as a second opinion.

import busboy from 'busboy'

export interface BusboyPart {
  readonly name: string
  readonly fileName: string | null
  /** As latin1 text. */
  data: string
}

/** busboy reads from memory, so it emits nothing more after this many turns. */
const MOST_TURNS = 20

/** Null if busboy refuses the body, or never finishes it: that happens for some bodies whose first delimiter is also the last. */
export function readByBusboy(boundary: string, chunks: readonly Buffer[]): Promise<readonly BusboyPart[] | null> {
  return new Promise((resolve) => {
    const parts: BusboyPart[] = []
    const parser = busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      preservePath: true,
      defParamCharset: 'utf8',
      defCharset: 'latin1',
    })
    parser.on('field', (name, data) => parts.push({ name, fileName: null, data }))
    parser.on('file', (name, file, { filename }) => {
      const part: BusboyPart = { name, fileName: filename ?? null, data: '' }
      parts.push(part)
      file.on('data', (bytes: Buffer) => {
        part.data += bytes.toString('latin1')
      })
      file.on('error', () => {})
    })
    parser.on('error', () => resolve(null))
    parser.on('close', () => resolve(parts))
    for (const chunk of chunks) parser.write(chunk)
    parser.end()
    giveUpLater(() => resolve(null), MOST_TURNS)
  })
}

function giveUpLater(giveUp: () => void, turns: number): void {
  setImmediate(() => (turns === 0 ? giveUp() : giveUpLater(giveUp, turns - 1)))
}
