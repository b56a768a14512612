// Small uploads: the whole form is in memory before it is checked. Responses are plain text.

import { extname } from 'node:path'

import { Controller, Route, safeFileName, saveTo, type UploadedFile } from 'weirjs'

const EXTENSIONS = ['.gif', '.jpeg', '.jpg', '.png', '.txt', '.webp']
const MAX_FILE_BYTES = 1024 * 1024

@Route('/user')
export class MemoryUploadController extends Controller {
  readonly #folder: string

  constructor(folder: string) {
    super()
    this.#folder = folder
  }

  @Route('POST', '/upload', { summary: 'Saves small files, all or none' })
  async upload() {
    const { request, response } = this
    const form = await request.bodyMultipart()
    if (form === null || form.files.length === 0) return response.status(400).text('Send a multipart form with a file.')
    if (!form.files.every(hasGoodExtension)) return response.status(415).text(`Wrong extension: only ${EXTENSIONS.join(', ')}.`)
    if (!form.files.every(isSmall)) return response.status(413).text(`A file may have at most ${MAX_FILE_BYTES} bytes.`)
    try {
      const saved = await Promise.all(form.files.map((file) => saveTo(this.#folder, file, file.content)))
      return `Saved ${saved.map(({ fileName, size }) => `${fileName} (${size} bytes)`).join(', ')} in ${this.#folder}.`
    } catch (error) {
      return response.makeInternalServerErrorResponse((error as Error).message)
    }
  }
}

/** The client's file name may end in blanks, dots or worse. So the name under which the file would be saved is checked. */
function hasGoodExtension({ fileName }: UploadedFile): boolean {
  return EXTENSIONS.includes(extname(safeFileName(fileName)).toLowerCase())
}

function isSmall({ content }: UploadedFile): boolean {
  return content.length <= MAX_FILE_BYTES
}
