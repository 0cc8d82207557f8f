//! A toolbox as the SDK wants to see it.

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt,
        PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};

use crate::{INSTRUCTION, PROMPT, ToolDescription, Toolbox};

const TEXT: &str = "text/plain";

/// Answers requests of the protocol from a toolbox.
#[derive(Clone)]
pub(crate) struct Handler(pub(crate) Arc<dyn Toolbox>);

fn told(tool: &ToolDescription) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.is_read_only)
        .destructive(tool.is_destructive)
        .open_world(false);
    Tool::new(
        Cow::Borrowed(tool.name),
        Cow::Borrowed(tool.description),
        Arc::new(tool.input_schema.clone()),
    )
    .with_annotations(annotations)
}

impl Handler {
    fn find(&self, name: &str) -> Option<&ToolDescription> {
        self.0.tools().iter().find(|tool| tool.name == name)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .build();
        let version = env!("CARGO_PKG_VERSION");
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("proctor", version);
        info.instructions = Some(self.0.instruction().to_owned());
        info
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.find(name).map(told)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools().iter().map(told).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.find(&request.name) else {
            let names: Vec<_> = self.0.tools().iter().map(|tool| tool.name).collect();
            let message = format!(
                "there is no tool '{}'; the tools are {}",
                request.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = self.0.call(tool.name, arguments).await;
        let content = vec![ContentBlock::text(result.text)];
        let result = match result.is_error {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        Ok(CallToolResponse::Complete(result))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let instruction = Resource::new(INSTRUCTION, "instruction")
            .with_title(self.0.name())
            .with_description("What is to be done.")
            .with_mime_type(TEXT);
        Ok(ListResourcesResult::with_all_items(vec![instruction]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != INSTRUCTION {
            let message = format!(
                "there is no resource '{}'; the only one is {INSTRUCTION}",
                request.uri
            );
            return Err(ErrorData::resource_not_found(message, None));
        }
        let text = ResourceContents::text(self.0.instruction(), INSTRUCTION).with_mime_type(TEXT);
        Ok(ReadResourceResult::new(vec![text]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = Prompt::new(PROMPT, Some("What is to be done."), None);
        let prompt = prompt.with_title(self.0.name());
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != PROMPT {
            let message = format!(
                "there is no prompt '{}'; the only one is '{PROMPT}'",
                request.name
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = PromptMessage::new_text(Role::User, self.0.instruction());
        Ok(GetPromptResult::new(vec![message]).into())
    }
}
