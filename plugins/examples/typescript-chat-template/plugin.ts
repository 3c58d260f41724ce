// Makes the prompt of a language model out of the messages of a conversation.
//
// - input `messages` BYTES [1]: JSON, [{"role": "user", "content": "hello"}, …], as chat interfaces send it
// - output `prompt` BYTES [1]: one text, in the format that the model was trained with
//
// Parameters: `format` (chatml): chatml or llama3; `system`: a first message for conversations that have none;
// `reply` (true): whether to end with the beginning of the assistant's answer.

import { type NacrePlugin, PluginError, type Request, type Settings, spec, strings } from "nacre";

interface Message {
  role: string;
  content: string;
}

interface Format {
  start: string;
  message(message: Message): string;
  reply: string;
}

const ROLES = ["system", "user", "assistant", "tool"];

const FORMATS: Record<string, Format> = {
  chatml: {
    start: "",
    message: ({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`,
    reply: "<|im_start|>assistant\n",
  },
  llama3: {
    start: "<|begin_of_text|>",
    message: ({ role, content }) => `<|start_header_id|>${role}<|end_header_id|>\n\n${content.trim()}<|eot_id|>`,
    reply: "<|start_header_id|>assistant<|end_header_id|>\n\n",
  },
};

/** The messages that a text holds. What is wrong is said with its place. */
function parse(text: string): Message[] {
  let messages: unknown;
  try {
    messages = JSON.parse(text);
  } catch (error) {
    throw new PluginError(`input 'messages' is no JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new PluginError("input 'messages' should be an array of messages, one at least");
  }
  return messages.map((message, at) => {
    if (!ROLES.includes(message?.role)) {
      throw new PluginError(`message ${at} has the role ${JSON.stringify(message?.role)}: expected one of ${ROLES.join(", ")}`);
    }
    if (typeof message.content !== "string") {
      throw new PluginError(`message ${at} has no text as its content`);
    }
    // A user who writes these could speak as somebody else.
    if (/<\|[a-z_]+\|>/.test(message.content)) {
      throw new PluginError(`message ${at} has a control word of the format in it`);
    }
    return { role: message.role, content: message.content };
  });
}

export default class Plugin implements NacrePlugin {
  summary = "makes a prompt out of the messages of a conversation";
  inputs = [spec("messages", "BYTES", [1])];
  outputs = [spec("prompt", "BYTES", [1])];
  private format = FORMATS.chatml!;
  private system = "";
  private reply = true;

  configure(settings: Settings): void {
    const name = settings.text("format", "chatml");
    const format = FORMATS[name];
    if (format === undefined) {
      throw new PluginError(`parameter 'format' is '${name}': expected one of ${Object.keys(FORMATS).join(", ")}`);
    }
    this.format = format;
    this.system = settings.text("system", "");
    this.reply = settings.truth("reply", true);
  }

  process(request: Request) {
    const messages = parse(request.input("messages").strings()[0] ?? "");
    if (this.system !== "" && messages[0]?.role !== "system") messages.unshift({ role: "system", content: this.system });
    const { start, message, reply } = this.format;
    const prompt = start + messages.map(message).join("") + (this.reply ? reply : "");
    return [strings("prompt", [1], [prompt])];
  }
}
