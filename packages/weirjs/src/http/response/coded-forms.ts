// The content of a response in several content codings, kept by code that sends the same content again, such as a cache.

/** A form, or the promise of one that is being made. */
type CodedForm = Uint8Array | Promise<Uint8Array>

/** Forms of one content. They are made when a client first accepts them. */
export class CodedForms {
  readonly #forms = new Map<string, CodedForm>()
  readonly #onGrow: (bytes: number) => void

  /** @param onGrow told how many bytes a new form has */
  constructor(onGrow: (bytes: number) => void) {
    this.#onGrow = onGrow
  }

  /** @param coding such as `gzip` */
  get(coding: string): CodedForm | undefined {
    return this.#forms.get(coding)
  }

  /** A promised form is kept once it is made, and forgotten if that fails. */
  set(coding: string, form: CodedForm): void {
    this.#forms.set(coding, form)
    if (form instanceof Uint8Array) {
      this.#onGrow(form.length)
      return
    }
    form.then(
      (made) => this.set(coding, made),
      () => this.#forms.delete(coding),
    )
  }
}
