// Reads a stream of server-sent events (https://html.spec.whatwg.org/#event-stream-interpretation).

/** An event that a server has sent. */
export interface ServerEvent<Name extends string = string, T = unknown> {
  /** Its type; `message` if the server sent none. */
  readonly event: Name
  readonly data: T
  /** The last id that the server sent, with this event or before it. To continue after it, send it as `Last-Event-ID`. */
  readonly id: string
}

/** How far a stream was read, for `follow`. */
export interface Seen {
  /** Of the last event, whether it had data or not. */
  id?: string
  /** Milliseconds, if the server has stated them: any number, or NaN. */
  retry?: number
}

/** @param isJson whether the data of all events is JSON @param seen changes while the stream is read */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  isJson: boolean,
  seen: Seen,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let line = ''
  let held = ''
  let data = ''
  let event = ''
  let id = seen.id ?? ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return // an incomplete event is dropped
      // A CR at the end may be half of a line end.
      const text = held + decoder.decode(value, { stream: true })
      held = /\r?$/.exec(text)![0]
      const lines = text.slice(0, text.length - held.length).split(/\r\n?|\n/)
      lines[0] = line + lines[0]
      line = lines.pop()!
      for (const one of lines) {
        const [, field, rest] = /^([^:]*):? ?(.*)/s.exec(one)!
        if (one === '') {
          seen.id = id
          if (data) yield { event: event || 'message', data: isJson ? JSON.parse(data) : data.slice(1), id }
          data = event = ''
        } else if (field === 'data') data += `\n${rest}`
        else if (field === 'event') event = rest!
        else if (field === 'retry') seen.retry = +rest!
        else if (field === 'id' && !rest!.includes('\0')) id = rest!
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
