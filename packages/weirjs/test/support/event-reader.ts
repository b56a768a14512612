// A client that reads a stream of events, remembers the last id, and can be cut off at any event.

export interface Heard {
  readonly event: string
  readonly data: string
  readonly id: string
}

export class EventReader {
  readonly heard: Heard[] = []
  readonly #url: string
  lastId: string | null = null
  status = 0

  constructor(url: string) {
    this.#url = url
  }

  get data(): string[] {
    return this.heard.map(({ event, data }) => (event === 'message' ? data : `${event} ${data}`.trim()))
  }

  /** Reads until the stream ends, or this many events have come. @returns whether it was cut */
  async read(most: number = Number.POSITIVE_INFINITY, url: string = this.#url): Promise<boolean> {
    const cut = new AbortController()
    const headers: Record<string, string> = this.lastId === null ? {} : { 'Last-Event-ID': this.lastId }
    const response = await fetch(url, { headers, signal: cut.signal })
    this.status = response.status
    if (response.body === null || response.status !== 200) return false
    let text = ''
    let count = 0
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      text += piece
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        if (!this.#take(block) || ++count < most) continue
        cut.abort()
        return true
      }
    }
    return false
  }

  #take(block: string): boolean {
    const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
    this.lastId = fields.get('id') ?? this.lastId
    const data = fields.get('data')
    if (data === undefined) return false
    this.heard.push({ event: fields.get('event') ?? 'message', data, id: fields.get('id') ?? '' })
    return true
  }
}
