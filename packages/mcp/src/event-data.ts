// The data of server-sent events (WHATWG HTML §9.2.6), as a route sends them.

import { ResultTooLarge } from './tool-result.ts'

/** @param most how many bytes all events together may have @throws ResultTooLarge, and what the body fails with */
export async function* eventData(body: ReadableStream<Uint8Array>, most: number): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  let size = 0
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
    size += piece.length
    if (size > most) throw new ResultTooLarge(most)
    const lines = (rest + decoder.decode(piece, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
}
